"""Records -> rows: the only writer of series, responses, populations, engines and checkpoints. Safe to repeat."""

from runs.ingest.columnar import BadColumns, Columns, as_columns, read_columns
from runs.ingest.compaction import compact, forget, loose_runs
from runs.ingest.fast_insert import may_write, push_at_once
from runs.ingest.fast_push import KnownWriters, Push, keep_push
from runs.ingest.follower import Follower, close_files
from runs.ingest.limits import MAX_KEY, UNPRINTABLE, refusal
from runs.ingest.metrics import skip_batch_ids
from runs.ingest.prompts import NAME_SHOWN, Question, teach
from runs.ingest.record_body import MAX_BYTES
from runs.ingest.response_rows import Given, keep_scores
from runs.ingest.writer import Gap, OffsetMoved, PushResult, ingest, push

__all__ = [
    "MAX_BYTES",
    "MAX_KEY",
    "NAME_SHOWN",
    "UNPRINTABLE",
    "BadColumns",
    "Columns",
    "Follower",
    "Gap",
    "Given",
    "KnownWriters",
    "OffsetMoved",
    "Push",
    "PushResult",
    "Question",
    "as_columns",
    "close_files",
    "compact",
    "forget",
    "ingest",
    "keep_push",
    "keep_scores",
    "loose_runs",
    "may_write",
    "push",
    "push_at_once",
    "read_columns",
    "refusal",
    "skip_batch_ids",
    "teach",
]
