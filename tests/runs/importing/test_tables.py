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
from tests.runs.importing.published_cases import published_case
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


def entries_of(text: str):
    """Return (entries with records, the report) of a table."""
    report = ImportReport()
    entries = list(tables.entries(io.BytesIO(text.encode()), "a.csv", report))
    return entries, report


@each_case(
    ("row", "expected"),
    [
        ({"global_step/max_steps": "10/438"}, (10, 438)),
        ({"current_steps": 10, "total_steps": 20}, (10, 20)),
        ({"update": 10}, (10, 0)),
        ({"iteration": "10"}, (10, 0)),
        ({"Train/Global_Step": 10, "_step": 3}, (10, 0)),
        ({"training_iteration": 10.0}, (10, 0)),
        ({"step": 10, "max_steps": 20, "_step": 0}, (10, 20)),
        ({"_step": 10}, (10, 0)),
        ({"trainer/global_step": 10, "epoch": 1, "_step": 4}, (10, 0)),
    ],
    ids=lambda value: str(value)[:60],
)
def test_stated_step_is_never_counted(row, expected):
    text = "".join(json.dumps(row | {"loss": loss}) + "\n" for loss in (0.5, 0.25))
    entries, _ = entries_of(text)
    assert tables.is_table(text.encode())
    run = entries[-1].run
    assert [entry.record.step for entry in entries if entry.record] == [expected[0]] * 2
    assert run.settings.get("steps", 0) == expected[1]


def test_step_column_is_that_of_most_rows_and_the_other_one_is_a_series():
    points, _, remarks = read("_step,global_step,step,a\n0,,10,1\n1,7,20,2\n2,,30,3\n")
    assert points["a"] == [(0, 10, 1.0), (0, 20, 2.0), (0, 30, 3.0)]
    assert points["_step"] == [(0, 10, 0.0), (0, 20, 1.0), (0, 30, 2.0)]
    assert points["global_step"] == [(0, 20, 7.0)]
    assert remarks == []


def test_run_that_reaches_its_total_has_succeeded():
    _, run, _ = read('{"step": "1/2", "a": 1}\n{"step": "2/2", "a": 2}\n')
    assert (run.state, run.reason) == ("succeeded", "")
    _, run, _ = read("step,total_steps,a\n1,3,1\n2,3,2\n")
    assert (run.state, run.reason) == ("unknown", "Its rows end at step 2 of 3 and do not state how it ended")


def test_total_that_changes_is_a_series():
    points, run, _ = read("step,total_steps,a\n1,1,5\n2,2,6\n")
    assert (run.state, [value for *_, value in points["total_steps"]]) == ("unknown", [1.0, 2.0])


@each_case(
    ("heading", "rows", "started_at", "seconds"),
    [
        ("_timestamp", ["1700000000", "1700000060.5"], 1_700_000_000.0, [0.0, 60.5]),
        ("_runtime", ["10", "20"], None, [10.0, 20.0]),
        ("_runtime,_timestamp", ["10,1700000010", "20,1700000020"], 1_700_000_000.0, [10.0, 20.0]),
        ("Wall time", ["1700000000.5", "1700000010.5"], 1_700_000_000.5, [0.0, 10.0]),
        ("timestamp", ["2026-01-01T00:00:00", "2026-01-01T00:01:00+00:00"], 1_767_225_600.0, [0.0, 60.0]),
        ("_timestamp", ["1700000000000", "1700000001"], 1_700_000_001.0, [None, 0.0]),
    ],
)
def test_times_of_rows_are_no_series(heading, rows, started_at, seconds):
    entries, report = entries_of(f"step,{heading},a\n" + "".join(f"{i},{row},1\n" for i, row in enumerate(rows)))
    assert [entry.at for entry in entries if entry.record] == seconds
    assert {key for entry in entries if entry.record for key in entry.record.values} == {"a"}
    assert entries[-1].run.started_at == started_at
    assert len(report.remarks) == seconds.count(None)


def test_timestamp_that_counts_seconds_of_its_own_is_a_series():
    points, _, _ = read("step,timestamp,a\n1,0.5,1\n2,1.5,2\n")
    assert [value for *_, value in points["timestamp"]] == [0.5, 1.5]


def test_quoted_cell_may_have_line_breaks():
    text = 'step,completion,reward\n1,"good",0.5\n2,"numbers:\n99,1,7\n""end""",0.25\n\n3,"ok",x\n4,,0.75\n'
    entries, report = entries_of(text)
    assert [(entry.record.step, entry.record.values) for entry in entries if entry.record] == [
        (1, {"reward": 0.5}), (2, {"reward": 0.25}), (4, {"reward": 0.75}),
    ]  # fmt: skip
    assert [str(cell) for cell in report.refused_cells] == ["line 7, column reward: 'x' is not a number"]
    assert [str(remark) for remark in report.remarks] == ["column completion: contains no number in 3 rows"]


@each_case("end", ['2,"cut', '2,"numbers:\n99,1,7', '2,"numbers:\n99,1,7\n', '2,"a ""q""\n99,1,"'])
def test_record_whose_quoted_cell_is_cut_off_is_left_out(end):
    entries, report = entries_of(f'step,completion,reward\n1,"good",0.5\n{end}')
    assert [entry.record.step for entry in entries if entry.record] == [1]
    assert str(report.remarks[0]).startswith("line")


def test_quote_without_an_end_costs_the_lines_up_to_the_next_one():
    text = 'step,note,a\n1,"open,1\n' + "".join(f"{i},{'n' * 900},1\n" for i in range(2, 200)) + '200,x",1\n201,y,1\n'
    entries, report = entries_of(text)
    assert [entry.record.step for entry in entries if entry.record] == [201]
    assert str(report.remarks[0]).startswith("line 2: ") and "omitted up to line 201" in str(report.remarks[0])


def test_row_of_several_lines_with_the_wrong_number_of_cells_is_named():
    _, report = entries_of('step,a\n1,2\n2,"x\ny",3\n3,4\n')
    assert [str(remark) for remark in report.remarks] == ["lines 3 to 4: has 3 cells for 2 columns: omitted"]


def test_heading_may_follow_a_hint_for_spreadsheets():
    points, _, _ = read('sep=;\n\n"step";"loss"\n1;0,5\n')
    assert points == {"loss": [(0, 1, 0.5)]}


@each_case("text", [
    '{"global_step": 30, "max_steps": 100, "log_history": [{"loss": 0.5, "step": 10}, {"loss": 0.25, "step": 30}]}',
    '{"global_step":30,"max_steps":100,"log_history":[{"loss":0.5,"step":10},{"loss":0.25,"step":30}]}\n',
    ' {"log_history" : [ {"loss": 0.5, "step": 10},\n{"loss": 0.25, "step": 30} ], "global_step": 30 }',
    '\n\t{ "epoch": 1.0, "global_step": 30,\t"log_history": [{"loss": 0.5, "step": 10}, {"loss": 0.25, "step": 30}]}',
])  # fmt: skip
def test_trainer_state_of_one_line_is_no_table(ada, tmp_path, text):
    (tmp_path / "trainer_state.json").write_text(text)
    imported = bring_in(tmp_path / "trainer_state.json", ada)
    assert [list(outcome.kinds) for outcome in imported.outcomes] == [["trainer state"]]
    (curve,) = metrics.read(imported.new_runs, ["train/loss"])
    assert (curve.x.tolist(), curve.y.tolist()) == ([10, 30], [0.5, 0.25])


def test_published_completions_with_line_breaks():
    entries, _ = entries_of(published_case("csv-quoted-false-row/completions.csv").read_text())
    assert [(entry.record.step, entry.record.values) for entry in entries if entry.record] == [
        (1, {"reward": 0.5}), (2, {"reward": 0.25}), (3, {"reward": 0.75}),
    ]  # fmt: skip


@each_case("name", ["history.csv", "history.jsonl"])
def test_published_history_of_w_and_b(name):
    entries, report = entries_of(published_case(f"wandb-history/{name}").read_text())
    records = [entry for entry in entries if entry.record]
    assert sorted({entry.record.step for entry in records}) == [10, 20, 30, 40, 50][: 5 if "jsonl" in name else 3]
    assert [entry.record.values["_step"] for entry in records] == list(range(len(records)))
    assert [entry.at for entry in records[:2]] == ([600.0, 1200.0] if "jsonl" in name else [0.0, 600.0])
    assert (entries[-1].run.started_at, report.remarks) == (1_700_000_000.0, [])


def test_published_trainer_state_of_one_line(ada):
    imported = bring_in(published_case("trainer-state-one-line/trainer_state.json"), ada)
    assert [list(outcome.kinds) for outcome in imported.outcomes] == [["trainer state"]]
    (curve,) = metrics.read(imported.new_runs, ["train/reward"])
    assert (curve.x.tolist(), curve.y.tolist()) == ([10, 20, 20, 30], [0.1, 0.2, 0.15, 0.3])


@each_case(
    "text",
    [
        "step;loss;;\n1;0,5;;\n2;0,25;;\n;;;\n",
        "step;loss\n1;0,5;;\n2;0,25;\n",
        "step,loss\r1,0.5\r2,0.25\r",
        "\n\nstep,loss\n1,0.5\n2,0.25\n",
        "sep=;\r\nstep;loss\r\n1;0,5\r\n2;0,25\r\n",
    ],
    ids=["empty columns", "empty cells", "line ends of old Macs", "blank lines", "Excel's first line"],
)
def test_what_spreadsheets_add_changes_no_number(text):
    points, _, remarks = read(text)
    assert points == {"loss": [(0, 1, 0.5), (0, 2, 0.25)]}
    assert [remark for remark in remarks if "decimal sign" not in remark] == []


def test_cells_are_named_by_their_line_whatever_line_ends_precede_them():
    report = ImportReport()
    list(tables.entries(io.BytesIO(b"step,loss\r1,0.5\r2,x\r3,62.5%\r"), "a.csv", report))
    assert [(cell.line, cell.text) for cell in report.refused_cells] == [(3, "x"), (4, "62.5%")]


def test_unnamed_columns_with_numbers_are_not_lost():
    points, _, _ = read("step,loss,,\n1,0.5,7,\n2,0.4,8,\n")
    assert points["column 3"] == [(0, 1, 7.0), (0, 2, 8.0)]
