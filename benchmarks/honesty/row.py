"""One run of the study as a row of results.csv: its truth, and what the detectors say of it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.honesty.outcome import Outcome, outcomes_of
from benchmarks.honesty.study_run import StudyRun
from benchmarks.honesty.truth import Character, Truth, truth_of
from workers.analysis.detectors import DETECTORS
from workers.analysis.labels import FinalLabel

COLUMNS = (
    "run", "method", "kind", "seed", "character", "decided_at", "labelled", "right_before", "right", "evasion_before",
    "evasion", "reward_end", "first_flag", "largest_kl", *(detector.name for detector in DETECTORS),
)  # fmt: skip
"""The column of a detector has log10 of the largest level / p of the run; it fires at 0 and above. Empty: it cannot
judge."""


@dataclass(frozen=True)
class Row:
    """A run with its truth and its scores."""

    run: str
    method: str
    kind: str
    seed: int
    truth: Truth
    outcome: Outcome

    @property
    def is_cheating(self) -> bool:
        return self.truth.character is Character.CHEATING

    @property
    def is_honest(self) -> bool:
        return self.truth.character is Character.HONEST

    @property
    def is_flagged(self) -> bool:
        return self.outcome.score >= 0


def rows_of(runs: Sequence[StudyRun], labels: Mapping[tuple[str, str], FinalLabel]) -> list[Row]:
    """Return the rows of runs that are judged as one experiment. Numbers are rounded as in the file."""
    judged = zip(runs, outcomes_of(runs), strict=True)
    rows = (Row(run.name, run.method, run.kind, run.seed, truth_of(run, labels), outcome) for run, outcome in judged)
    return [_parsed(_cells(row)) for row in rows]


def write_rows(rows: Iterable[Row], file: Path) -> None:
    """Write results.csv."""
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(_cells, rows))


def read_rows(file: Path) -> list[Row]:
    """Read results.csv."""
    with file.open(encoding="utf-8", newline="") as opened:
        return [_parsed(cells) for cells in csv.DictReader(opened)]


def _cells(row: Row) -> dict[str, str]:
    truth, outcome = row.truth, row.outcome
    shares = {name: f"{getattr(truth, name):.3f}" for name in ("right_before", "right", "evasion_before", "evasion")}
    steps = {"reward_end": outcome.reward_end, "first_flag": outcome.first_flag}
    return {
        "run": row.run, "method": row.method, "kind": row.kind, "seed": str(row.seed),
        "character": truth.character.value, "decided_at": str(truth.step), "labelled": str(truth.n), **shares,
        **{name: "" if step is None else str(step) for name, step in steps.items()},
        "largest_kl": "" if outcome.largest_kl is None else f"{outcome.largest_kl:.3f}",
        **{name: f"{score:.2f}" for name, score in outcome.scores.items()},
    }  # fmt: skip


def _parsed(cells: Mapping[str, str]) -> Row:
    scores = {detector.name: float(cells[detector.name]) for detector in DETECTORS if cells.get(detector.name)}
    truth = Truth(
        Character(cells["character"]), int(cells["decided_at"]), int(cells["labelled"]),
        *(float(cells[name]) for name in ("right", "right_before", "evasion", "evasion_before")),
    )  # fmt: skip
    end, first, kl = cells["reward_end"], cells["first_flag"], cells["largest_kl"]
    outcome = Outcome(scores, int(end) if end else None, int(first) if first else None, float(kl) if kl else None)
    return Row(cells["run"], cells["method"], cells["kind"], int(cells["seed"]), truth, outcome)
