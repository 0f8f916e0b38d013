"""Records -> rows: the only writer of series, responses, populations and checkpoints. Safe to repeat."""

from runs.ingest.columns import BadColumns, read_columns
from runs.ingest.compacting import compact, loose_runs
from runs.ingest.draining import close_files
from runs.ingest.limits import refusal
from runs.ingest.once import Gap, ingest, push

__all__ = ["BadColumns", "Gap", "close_files", "compact", "ingest", "loose_runs", "push", "read_columns", "refusal"]
