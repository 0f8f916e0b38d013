"""Records -> rows: the only writer of series, responses, populations, engines and checkpoints. Safe to repeat."""

from runs.ingest.columnar import BadColumns, Columns, as_columns, read_columns
from runs.ingest.compaction import compact, loose_runs
from runs.ingest.fast_insert import may_write, push_at_once
from runs.ingest.follower import close_files
from runs.ingest.limits import refusal
from runs.ingest.metrics import skip_batch_ids
from runs.ingest.prompts import teach
from runs.ingest.writer import Gap, OffsetMoved, PushResult, ingest, push

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
    "push",
    "push_at_once",
    "read_columns",
    "refusal",
    "skip_batch_ids",
    "teach",
]
