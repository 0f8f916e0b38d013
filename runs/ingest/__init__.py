"""Records -> rows: the only writer of series, responses, populations, engines and checkpoints. Safe to repeat."""

from runs.ingest.at_once import may_write, push_at_once
from runs.ingest.collapsing import measure_due
from runs.ingest.columns import BadColumns, Columns, as_columns, read_columns
from runs.ingest.compacting import compact, loose_runs
from runs.ingest.draining import close_files
from runs.ingest.limits import refusal
from runs.ingest.metrics import skip_batch_ids
from runs.ingest.once import Gap, OffsetMoved, PushResult, ingest, push
from runs.ingest.prompts import teach

__all__ = [
    "BadColumns",
    "Columns",
    "Gap",
    "OffsetMoved",
    "PushResult",
    "as_columns",
    "close_files",
    "compact",
    "ingest",
    "loose_runs",
    "may_write",
    "measure_due",
    "push",
    "push_at_once",
    "read_columns",
    "refusal",
    "skip_batch_ids",
    "teach",
]
