"""The rows. They index the runs' own files, which are the truth, and can be rebuilt from them."""

from runs.models.attempt import Attempt, AttemptEvent, Cluster
from runs.models.experiment import Experiment, Run
from runs.models.response import Checkpoint, Population, Prompt, Response
from runs.models.series import Batch, RecordFile, Series
from runs.models.token import ApiToken

__all__ = [
    "ApiToken",
    "Attempt",
    "AttemptEvent",
    "Batch",
    "Checkpoint",
    "Cluster",
    "Experiment",
    "Population",
    "Prompt",
    "RecordFile",
    "Response",
    "Run",
    "Series",
]
