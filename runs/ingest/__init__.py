"""Records -> rows: the only writer of series, responses, populations and checkpoints. Safe to repeat."""

from runs.ingest.compacting import compact, loose_runs
from runs.ingest.draining import close_files
from runs.ingest.limits import refusal
from runs.ingest.once import Gap, ingest

__all__ = ["Gap", "close_files", "compact", "ingest", "loose_runs", "refusal"]
