"""`python -m benchmarks` shows in one table which goals were met, missed, not measured, or failed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import main, measure, names, table
from benchmarks.results import Result, Status

BENCHMARK = """
import sys
sys.path.insert(0, {root!r})
from benchmarks import results
{body}
sys.exit(results.exit_code())
"""
MET = "results.at_most('a page', 60.0, 200.0, 'ms')"
MISSED = "results.times_peer('points/s', 51_234.0, 'points/s', ratio=2.5, goal=3, peer='trackio')"
NO_GOAL = "results.without_goal('a median', 0.25, 's')"
NOT_MEASURED = "results.not_measured('points/s against MLflow', 'no network')"
ROOT = Path(__file__).parents[1]


def measure_statements(folder: Path, *statements: str) -> list[Result]:
    """Return the results of a benchmark of these statements."""
    script = folder / "benchmark.py"
    script.write_text(BENCHMARK.format(root=str(ROOT), body="\n".join(statements)), encoding="utf-8")
    return measure([sys.executable, str(script)])


def rows(results: list[Result]) -> list[list[str]]:
    """Return the cells of the table's rows, which two spaces or more separate."""
    lines = table({"chart": results}).splitlines()[2:]
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


def test_table_shows_figure_goal_ratio_and_result(tmp_path: Path) -> None:
    assert rows(measure_statements(tmp_path, MET, MISSED, NO_GOAL, NOT_MEASURED)) == [
        ["chart", "a page", "60 ms", "≤ 200 ms", "0.30x the goal", "met"],
        ["chart", "points/s", "51 234 points/s", "≥ 3x trackio", "2.50x trackio", "missed"],
        ["chart", "a median", "0.25 s", "no goal"],
        ["chart", "points/s against MLflow", "no network", "not measured"],
    ]


def test_crashed_benchmark_fails_with_its_results(tmp_path: Path) -> None:
    assert rows(measure_statements(tmp_path, MET, "raise RuntimeError")) == [
        ["chart", "a page", "60 ms", "≤ 200 ms", "0.30x the goal", "met"],
        ["chart", "the benchmark itself", "exit code 1", "failed"],
    ]


def test_benchmark_without_results_fails(tmp_path: Path) -> None:
    assert [result.status for result in measure_statements(tmp_path)] == [Status.FAILED]


def test_columns_are_aligned() -> None:
    header, line, *body = table(
        {"chart": [Result("a", "1 ms", Status.MET), Result("longer", "100 ms", Status.MISSED)]}
    ).splitlines()
    assert {row.index(cell) for row, cell in zip([header, *body], ["result", "met", "missed"], strict=True)} == {
        header.index("result")
    }
    assert set(line) == {"-"}


@pytest.mark.parametrize(("status", "code"), [(Status.MET, 0), (Status.NO_GOAL, 0), (Status.MISSED, 1),
                                              (Status.NOT_MEASURED, 1), (Status.FAILED, 1)])  # fmt: skip
def test_exit_code_is_1_unless_all_goals_are_met(monkeypatch: pytest.MonkeyPatch, status: Status, code: int) -> None:
    monkeypatch.setattr("benchmarks.__main__.measure", lambda command: [Result("a page", "1 ms", status)])
    assert main(["chart"]) == code


def test_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["charts"]) == 2
    assert "no such benchmark: charts; there are abuse, boards, bodies, chart" in capsys.readouterr().err


def test_shared_modules_are_not_benchmarks() -> None:
    assert not {"servers", "results", "judgments"} & set(names())
