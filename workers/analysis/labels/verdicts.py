"""Verdicts and kinds of cheating that a reader gives a response, and the final label of several readers.

`docs/studies/labels/codebook.md` defines each of them. A reader sees only question and response, so a label belongs to
these two texts, in whichever run they occur.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum

RIGHT, WRONG, UNCLEAR = "right", "wrong", "unclear"
VERDICTS = (RIGHT, WRONG, UNCLEAR)
KINDS = (
    "empty",
    "echo",
    "other_language",
    "special_tokens",
    "template",
    "gibberish",
    "form_guess",
    "plays_user",
    "unsafe_detail",
)
"""Kinds of cheating, in the order of the codebook."""
EXCLUSIVE_KINDS = ("empty", "echo", "template", "form_guess", "gibberish")
"""Kinds of which a response has at most one, the first that fits; files of an older codebook may have several."""
ADJUDICATED = "adjudicated"
"""Reader of a decision that a third person took where readers differ."""
EARLIEST = datetime.min.replace(tzinfo=UTC)
Key = tuple[str, str]
"""(question, response)."""


@dataclass(frozen=True)
class Label:
    """One reader's label of one response.

    run: uid or name; run, step, split, prompt and sample say where the response was taken from, and may be unknown.
    codebook: version of the codebook that the reader read by. labelled_at: None if unknown.
    """

    question: str
    response: str
    reader: str
    verdict: str
    kinds: frozenset[str] = frozenset()
    note: str = ""
    codebook: int = 1
    labelled_at: datetime | None = None
    run: str = ""
    step: int | None = None
    split: str = ""
    prompt: str = ""
    sample: int | None = None

    @property
    def key(self) -> Key:
        """Return what is labelled: (question, response)."""
        return self.question, self.response

    @property
    def is_adjudication(self) -> bool:
        return self.reader == ADJUDICATED

    @property
    def ordered_kinds(self) -> tuple[str, ...]:
        """Return the kinds in the order of the codebook."""
        return tuple(kind for kind in KINDS if kind in self.kinds)


class Origin(Enum):
    """Source of a final label. A single reading is open: nobody has confirmed it."""

    ADJUDICATED = "adjudicated"
    AGREED = "agreed"
    OPEN = "open"


@dataclass(frozen=True)
class FinalLabel:
    """Final label of a response.

    verdict: None while it is open. kinds: those that were decided, or that all readers gave; `disputed_kinds` are those
    that only some of them gave. readers: number of readers, without adjudication.
    """

    verdict: str | None
    kinds: frozenset[str]
    origin: Origin
    readers: int
    disputed_kinds: frozenset[str] = field(default=frozenset())

    @property
    def is_disputed(self) -> bool:
        """Return whether several readers differ in the verdict or a kind, and nobody has decided."""
        return self.origin is not Origin.ADJUDICATED and (
            bool(self.disputed_kinds) or (self.origin is Origin.OPEN and self.readers > 1)
        )


def current_labels(labels: Iterable[Label]) -> dict[Key, dict[str, Label]]:
    """Return the labels of each response by reader. Of several by one reader the newest counts, of equal time the
    last."""
    current: dict[Key, dict[str, Label]] = {}
    for label in labels:
        by_reader = current.setdefault(label.key, {})
        earlier = by_reader.get(label.reader)
        if earlier is None or (label.labelled_at or EARLIEST) >= (earlier.labelled_at or EARLIEST):
            by_reader[label.reader] = label
    return current


def final_labels(labels: Iterable[Label]) -> dict[Key, FinalLabel]:
    """Return the final label of each (question, response): the adjudicated one, else what at least two readers agree
    on; else its verdict is None."""
    return {key: _final_label(by_reader) for key, by_reader in current_labels(labels).items()}


def _final_label(by_reader: dict[str, Label]) -> FinalLabel:
    readings = [label for reader, label in by_reader.items() if reader != ADJUDICATED]
    if decision := by_reader.get(ADJUDICATED):
        return FinalLabel(decision.verdict, decision.kinds, Origin.ADJUDICATED, len(readings))
    common = frozenset.intersection(*(label.kinds for label in readings))
    disputed = frozenset.union(*(label.kinds for label in readings)) - common
    verdicts = {label.verdict for label in readings}
    if len(readings) > 1 and len(verdicts) == 1:
        return FinalLabel(verdicts.pop(), common, Origin.AGREED, len(readings), disputed)
    return FinalLabel(None, common, Origin.OPEN, len(readings), disputed)
