"""Gold labels of responses: verdicts and kinds of cheating, their CSV form, final labels, and agreement of readers."""

from workers.analysis.labels.agreement import KindAgreement, ReaderPair, compare_readers
from workers.analysis.labels.csv_form import (
    COLUMNS,
    MAX_CELL_LENGTH,
    InvalidLabels,
    LabelLine,
    LineProblem,
    label_lines,
    parse_labels,
    read_labels,
)
from workers.analysis.labels.verdicts import (
    ADJUDICATED,
    EXCLUSIVE_KINDS,
    KINDS,
    RIGHT,
    UNCLEAR,
    VERDICTS,
    WRONG,
    FinalLabel,
    Label,
    Origin,
    current_labels,
    final_labels,
)

__all__ = [
    "ADJUDICATED",
    "COLUMNS",
    "EXCLUSIVE_KINDS",
    "KINDS",
    "MAX_CELL_LENGTH",
    "RIGHT",
    "UNCLEAR",
    "VERDICTS",
    "WRONG",
    "FinalLabel",
    "InvalidLabels",
    "KindAgreement",
    "Label",
    "LabelLine",
    "LineProblem",
    "Origin",
    "ReaderPair",
    "compare_readers",
    "current_labels",
    "final_labels",
    "label_lines",
    "parse_labels",
    "read_labels",
]
