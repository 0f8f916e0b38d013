"""The rows. They index the runs' own files, which are the truth, and can be rebuilt from them."""

from runs.models.attempt import WAITING_STATES, Attempt, AttemptEvent, Hold, Origin, checkpoint_folder, key_of
from runs.models.chart_layout import ChartLayout
from runs.models.cluster_test import ClusterTest
from runs.models.collapse import Collapse
from runs.models.config_value import Knob
from runs.models.disk_use import DiskUse
from runs.models.evaluated_step import EVALUATION, TRAINING, EvaluatedStep, choose_last_step, list_evaluated_steps
from runs.models.experiment import Experiment, Run
from runs.models.external import LOST_AFTER_SECONDS, ExternalRun
from runs.models.flag import Flag, FlagCheck, FlagDismissal, FlagThresholds, mark_flag_checks_due
from runs.models.idempotency_key import KeptAnswer
from runs.models.imported import RUN_FOLDER, Import
from runs.models.job import Cluster, Job
from runs.models.label import Label, LabelItem, LabelSet
from runs.models.limit import Limit
from runs.models.line_style import LineStyle
from runs.models.package_set import PackageSet
from runs.models.preference import Preference
from runs.models.rebuild import Rebuild
from runs.models.response import (
    Checkpoint,
    EngineReport,
    Population,
    ProbeResult,
    Prompt,
    Response,
    RewardAttack,
    Score,
)
from runs.models.saved_view import SavedView
from runs.models.scoring import Scoring
from runs.models.secret import ScorerSecret
from runs.models.series import Batch, Chunk, RecordFile, Series
from runs.models.server_folder import ServerFolder
from runs.models.service import Service
from runs.models.sweep import Sweep
from runs.models.token import ApiToken

__all__ = [
    "EVALUATION",
    "LOST_AFTER_SECONDS",
    "RUN_FOLDER",
    "TRAINING",
    "WAITING_STATES",
    "ApiToken",
    "Attempt",
    "AttemptEvent",
    "Batch",
    "ChartLayout",
    "Checkpoint",
    "Chunk",
    "Cluster",
    "ClusterTest",
    "Collapse",
    "DiskUse",
    "EngineReport",
    "EvaluatedStep",
    "Experiment",
    "ExternalRun",
    "Flag",
    "FlagCheck",
    "FlagDismissal",
    "FlagThresholds",
    "Hold",
    "Import",
    "Job",
    "KeptAnswer",
    "Knob",
    "Label",
    "LabelItem",
    "LabelSet",
    "Limit",
    "LineStyle",
    "Origin",
    "PackageSet",
    "Population",
    "Preference",
    "ProbeResult",
    "Prompt",
    "Rebuild",
    "RecordFile",
    "Response",
    "RewardAttack",
    "Run",
    "SavedView",
    "Score",
    "ScorerSecret",
    "Scoring",
    "Series",
    "ServerFolder",
    "Service",
    "Sweep",
    "checkpoint_folder",
    "choose_last_step",
    "key_of",
    "list_evaluated_steps",
    "mark_flag_checks_due",
]
