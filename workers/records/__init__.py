"""The wire format: what a run writes, one JSON object a line, and how it is written and read."""

from workers.records.categories import categories_of
from workers.records.files import BrokenLine, Piece, RecordWriter, SilentWriter, next_epoch, read, records_path
from workers.records.kinds import (
    Alert,
    Checkpoint,
    Engine,
    Engines,
    Environment,
    Gpu,
    Line,
    Member,
    Metric,
    Population,
    Probe,
    ProbeValue,
    Record,
    Response,
    Status,
)
from workers.records.lines import BadLine, pack, unpack

__all__ = [
    "Alert",
    "BadLine",
    "BrokenLine",
    "Checkpoint",
    "Engine",
    "Engines",
    "Environment",
    "Gpu",
    "Line",
    "Member",
    "Metric",
    "Piece",
    "Population",
    "Probe",
    "ProbeValue",
    "Record",
    "RecordWriter",
    "Response",
    "SilentWriter",
    "Status",
    "categories_of",
    "next_epoch",
    "pack",
    "read",
    "records_path",
    "unpack",
]
