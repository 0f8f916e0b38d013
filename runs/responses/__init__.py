"""Responses of a run: by step, over time, side by side, scored afterwards."""

from runs.responses.by_step import RESPONSE_PARAMETERS, responses_context
from runs.responses.diff import changed_blocks
from runs.responses.judgeable import judgeable_runs, judgeable_uids
from runs.responses.schemas import CheckpointOut, CheckpointsOut, SeriesOut

__all__ = [
    "RESPONSE_PARAMETERS",
    "CheckpointOut",
    "CheckpointsOut",
    "SeriesOut",
    "changed_blocks",
    "judgeable_runs",
    "judgeable_uids",
    "responses_context",
]
