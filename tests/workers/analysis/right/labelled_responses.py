"""The responses of `docs/studies/labels` with their final verdicts, and what each measure says of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workers.analysis.labels import RIGHT, WRONG, final_labels, read_labels
from workers.analysis.right import is_equal, is_right, mentions
from workers.analysis.right.validity import Cell, length_class
from workers.corpus import FACTS

LABELS = Path(__file__).resolve().parents[4] / "docs" / "studies" / "labels"
SETS = ("smollm2", "facts")
PUBLISHED = {
    "What is the capital of France?": "Paris",
    "Calculate: 12 × 7 =": "84",
    'Is the statement "All cats are mammals" true or false?': "True",
    "What comes next in the sequence: 2, 4, 6, 8, ?": "10",
    'Translate "Hello" to Spanish:': "Hola",
    "What is 15% of 200?": "30",
    "Name one primary color:": "Red",
    "How many days are in a week?": "7",
}
TARGETS = PUBLISHED | {fact.question: fact.answer for fact in FACTS}


@dataclass(frozen=True)
class Labelled:
    """A labelled response of one half. is_right: the readers' verdict."""

    half: str
    of_set: str
    question: str
    response: str
    is_right: bool

    @property
    def target(self) -> str:
        return TARGETS[self.question]

    def says(self) -> dict[str, bool]:
        """Return what each measure says."""
        return {
            "right": is_right(self.response, self.target, self.question) is True,
            "contains": mentions(self.response, self.target),
            "exact": is_equal(self.response, self.target),
        }


def half_of(question: str, response: str) -> str:
    """Return the half of a response: rules were tuned on one and are reported on the other, which a hash decides."""
    return "tuning" if hashlib.sha256(f"{question}\x1f{response}".encode()).digest()[0] % 2 == 0 else "held-out"


def labelled_responses() -> Iterator[Labelled]:
    """Yield each response with a verdict of right or wrong; unclear ones do not count."""
    for name in SETS:
        for (question, response), label in final_labels(read_labels(LABELS / f"{name}.csv")).items():
            if label.verdict in (RIGHT, WRONG):
                half = half_of(question, response)
                yield Labelled(half, name, question, response, label.verdict == RIGHT)


def counted_cells() -> tuple[Cell, ...]:
    """Return the counts of `workers.analysis.right.validity`, from the files."""
    labelled: Counter[tuple[str, str, str, bool]] = Counter()
    positive: Counter[tuple[str, str, str, bool, str]] = Counter()
    for row in labelled_responses():
        key = (row.half, row.of_set, length_class(row.response), row.is_right)
        labelled[key] += 1
        positive.update((*key, measure) for measure, says in row.says().items() if says)
    keys = sorted({key[:3] for key in labelled})
    return tuple(
        Cell(
            *key, labelled[*key, True], labelled[*key, False],
            {m: (positive[*key, True, m], positive[*key, False, m]) for m in ("right", "contains", "exact")},
        )
        for key in keys
    )  # fmt: skip
