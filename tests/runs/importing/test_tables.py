"""Tables of numbers by step, as CSV and JSON lines: their method is unknown, and every number retains its name."""

from __future__ import annotations

import io
import json
import math
from contextlib import ExitStack
from pathlib import Path

import pytest

from runs import importing, metrics
from runs.importing import ImportTarget
from runs.importing.readers import tables
from runs.importing.records import ImportReport
from tests.cases import each_case
from workers.records import Metric

pytestmark = pytest.mark.usefixtures("runs_dir")


def read(text: str, name: str = "a.csv"):
    """Return (points by column, the run, remarks and facts)."""
    report = ImportReport()
    entries = list(tables.entries(io.BytesIO(text.encode()), name, report))
    points: dict[str, list[tuple[int, int, float]]] = {}
    for entry in entries:
        if isinstance(entry.record, Metric):
            for key, value in entry.record.values.items():
                points.setdefault(key, []).append((entry.epoch, entry.record.step, value))
    return points, entries[-1].run if entries else None, [*map(str, report.remarks), *report.facts]


def bring_in(path: Path, person):
    with ExitStack() as keep:
        return importing.import_runs(importing.files_from_path(path, keep), ImportTarget(person, "Imported"))


@each_case("delimiter", [",", "\t", ";"], ids=["comma", "tab", "semicolon"])
def test_csv_gives_each_column_by_step(delimiter):
    text = "Step,loss,eval/reward,note\n1,0.5,-3,\n2,nan,,\n3,1e-3,-1.25,\n".replace(",", delimiter)
    points, run, remarks = read(text)
    assert points["eval/reward"] == [(0, 1, -3.0), (0, 3, -1.25)]
    assert [step for _, step, _ in points["loss"]] == [1, 2, 3]
    assert math.isnan(points["loss"][1][2])
    assert (run.stored_method, run.state, run.seed, run.kind) == ("unknown", "unknown", -1, "table of steps")
    assert run.reason == "Its rows end at step 3 and do not state how it ended"
    assert remarks == []


def test_json_lines_give_nested_numbers_by_path():
    rows = [{"step": i, "loss": 1 / i, "reward": {"mean": -i}, "done": i == 2, "tag": "x"} for i in (1, 2)]
    points, run, remarks = read("".join(json.dumps(row) + "\n" for row in rows))
    assert points == {
        "loss": [(0, 1, 1.0), (0, 2, 0.5)], "reward/mean": [(0, 1, -1.0), (0, 2, -2.0)],
        "done": [(0, 1, 0.0), (0, 2, 1.0)],
    }  # fmt: skip
    assert run.stored_method == "unknown"
    assert remarks == ["column tag: contains no number in 2 rows"]


def test_a_path_that_names_the_method_and_its_settings_is_believed():
    _, run, _ = read("step,loss\n1,2\n", "grpo/beta0.1/seed3.csv")
    assert (run.stored_method, run.seed, run.settings["beta"]) == ("grpo", 3, 0.1)


def test_unreadable_rows_are_named_and_decreasing_steps_are_restarts():
    points, _, remarks = read("iteration,a\n1,1\n2,2\nx,3\n3\n1.5,4\n1,5\n2,6")
    assert points["a"] == [(0, 1, 1.0), (0, 2, 2.0), (1, 1, 5.0), (1, 2, 6.0)]
    assert remarks == [
        "line 4: has no whole number as step: omitted", "line 5: has 1 cells for 2 columns: omitted",
        "line 6: has no whole number as step: omitted",
        "its last line has no line end: its last number was read as it is",
    ]  # fmt: skip


@each_case(
    "text",
    [
        "a,b\n1,2\n",
        "step\n1\n",
        "step,step\n1,2\n",
        "step,loss\nnone,2\n",
        '{"question": "x"}\n{"question": "y"}\n',
        '{"step": 1, "loss": 2}\nsome other line\n',
        "In step, we believe\nand so on\n",
    ],
    ids=["no step", "one column", "two columns of one name", "no number", "no step in JSON", "a log", "prose"],
)
def test_other_texts_are_no_tables(ada, tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    imported = bring_in(tmp_path / "a.csv", ada)
    assert "table of steps" not in {kind for outcome in imported.outcomes for kind in outcome.kinds}


def test_a_table_becomes_a_run_of_unknown_method(ada, tmp_path):
    heading = "step," + ",".join(f"a rather long name of a column {i}" for i in range(400))
    (tmp_path / "wide.csv").write_text(heading + "\n5," + ",".join(map(str, range(400))) + "\n")
    (run,) = bring_in(tmp_path / "wide.csv", ada).new_runs
    assert (run.method, run.config, run.name) == ("unknown", {"schema": 1, "method": "unknown"}, "wide.csv")
    assert metrics.latest([run])[run.pk]["a rather long name of a column 399"] == 399.0


def test_json_lines_of_trl_s_names_are_no_grpo_run(ada, tmp_path):
    (tmp_path / "log.jsonl").write_text('{"step": 1, "loss": 0.5, "reward": 2.0}\n{"step": 2, "loss": 0.25}\n')
    (run,) = bring_in(tmp_path / "log.jsonl", ada).new_runs
    assert (run.method, sorted(metrics.keys(run))) == ("unknown", ["loss", "reward"])
