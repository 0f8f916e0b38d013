"""Responses of a run: by step, over time, side by side, scored afterwards."""

from runs.responses.by_step import responses_context
from runs.responses.schemas import CheckpointOut, CheckpointsOut, SeriesOut

__all__ = [
    "CheckpointOut",
    "CheckpointsOut",
    "SeriesOut",
    "responses_context",
]
