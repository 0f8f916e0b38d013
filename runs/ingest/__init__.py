"""Store records as rows. Only this package writes series, responses, populations, engines, probe results, attacks,
checkpoints.

Each call is safe to repeat.
"""

from runs.ingest.columnar import BadColumns, Columns, as_columns, read_columns
from runs.ingest.compaction import compact, delete_records, loose_runs
from runs.ingest.fast_insert import insert_push, may_write
from runs.ingest.fast_push import KnownWriters, Push, store_push
from runs.ingest.follower import Follower, close_files
from runs.ingest.limits import MAX_KEY, UNPRINTABLE, refusal
from runs.ingest.metrics import skip_batch_ids
from runs.ingest.prompts import MAX_NAME_LENGTH, Question, add_categories
from runs.ingest.record_body import MAX_BYTES
from runs.ingest.response_rows import GivenScore, save_scores
from runs.ingest.writer import Gap, OffsetMismatch, PushResult, ingest, push

__all__ = [
    "MAX_BYTES",
    "MAX_KEY",
    "MAX_NAME_LENGTH",
    "UNPRINTABLE",
    "BadColumns",
    "Columns",
    "Follower",
    "Gap",
    "GivenScore",
    "KnownWriters",
    "OffsetMismatch",
    "Push",
    "PushResult",
    "Question",
    "add_categories",
    "as_columns",
    "close_files",
    "compact",
    "delete_records",
    "ingest",
    "insert_push",
    "loose_runs",
    "may_write",
    "push",
    "read_columns",
    "refusal",
    "save_scores",
    "skip_batch_ids",
    "store_push",
]
