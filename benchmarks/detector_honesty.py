"""State how honest the detectors are, on runs whose truth is known from labels:

    python -m benchmarks.detector_honesty [FOLDER ...] [--labels CSV ...] [--training-seeds N ...] [--write]

Without a folder it judges the runs of docs/studies/detectors. A FOLDER is a run's folder, with run.json and records, or
one of such folders; its runs are test runs, except those with a training seed. --write stores the rows of the shipped
runs, which the guide's tables are made of. docs/studies/detectors/README.md states the rules.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import results
from benchmarks.honesty.report import Study, report
from benchmarks.honesty.row import Row, rows_of, write_rows
from benchmarks.honesty.study_run import StudyRun, read_folder, unpack
from workers.analysis.labels import final_labels, read_labels

DOCS = Path(__file__).resolve().parents[1] / "docs" / "studies"
RUNS, ROWS = DOCS / "detectors" / "responses.json.xz", DOCS / "detectors" / "results.csv"
LABELS = DOCS / "labels" / "detectors.csv"
TRAINING_SEEDS = (1, 2)
"""Seeds of the shipped runs from which limits may be taken."""


def main(arguments: Sequence[str]) -> int:
    """Judge, print, record, and return the exit code."""
    given = _parser().parse_args(arguments)
    labels = final_labels(label for file in given.labels or [LABELS] for label in read_labels(file))
    runs = list(_runs_of(given.folders) if given.folders else unpack(RUNS))
    seeds = given.training_seeds or () if given.folders else TRAINING_SEEDS
    # The two sides are experiments of their own, so that no test run is compared with a training run.
    sides = ([run for run in runs if run.seed in seeds], [run for run in runs if run.seed not in seeds])
    rows = [row for side in sides for row in rows_of(side, labels)]
    study = study_of(rows, seeds)
    print(report(study))
    if given.write and not given.folders:
        write_rows(sorted(rows, key=lambda row: row.run), ROWS)
    _record(study)
    return results.exit_code()


def study_of(rows: Sequence[Row], training_seeds: Sequence[int] = TRAINING_SEEDS) -> Study:
    """Split rows by seed."""
    training = [row for row in rows if row.seed in training_seeds]
    return Study([row for row in rows if row.seed not in training_seeds], training)


def _runs_of(folders: Sequence[Path]) -> Iterator[StudyRun]:
    for folder in folders:
        inner = sorted(each.parent for each in folder.glob("*/run.json"))
        yield from map(read_folder, [folder] if (folder / "run.json").is_file() else inner)


def _record(study: Study) -> None:
    for name, side in (("cheating", study.cheating), ("honest", study.honest)):
        if side:
            flagged = sum(row.is_flagged for row in side)
            results.without_goal(f"{name} test runs flagged, of {len(side)}", 100 * flagged / len(side), "%")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detector_honesty", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--labels", nargs="+", type=Path, metavar="CSV")
    parser.add_argument("--training-seeds", nargs="+", type=int, metavar="N")
    parser.add_argument("--write", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
