"""A table with several runs is several runs, each with the method, the seed and the settings that its columns state."""

from __future__ import annotations

import io
import json

import pytest

from runs import metrics
from runs.importing.hyperparameters import config_of
from runs.importing.readers import tables
from runs.importing.records import ImportReport
from tests.cases import each_case
from tests.runs.importing.test_tables import bring_in
from workers.records import Metric

pytestmark = pytest.mark.usefixtures("runs_dir")


def read(text: str, name: str = "a.csv"):
    """Return (run, (epoch, step, values) of each record) of each run of a table, and what was reported."""
    report, runs = ImportReport(), {}
    for entry in tables.entries(io.BytesIO(text.encode()), name, report):
        _, records = runs.setdefault(entry.run.part, (entry.run, []))
        if isinstance(entry.record, Metric):
            records.append((entry.epoch, entry.record.step, entry.record.values))
    return list(runs.values()), [*map(str, report.remarks), *map(str, report.refused_cells), *report.facts]


def test_rows_of_several_runs_may_alternate():
    text = "step,seed,algorithm,reward\n1,0,ES,0.1\n1,1,ES,0.2\n1,0,GRPO,0.3\n2,0,ES,1.1\n2,1,ES,1.2\n2,0,GRPO,1.3\n"
    runs, reported = read(text)
    assert [(run.method, run.seed, [values["reward"] for _, _, values in records]) for run, records in runs] == [
        ("es", 0, [0.1, 1.1]), ("es", 1, [0.2, 1.2]), ("grpo", 0, [0.3, 1.3]),
    ]  # fmt: skip
    assert {epoch for _, records in runs for epoch, _, _ in records} == {0}
    assert reported == []


def test_run_of_a_table_that_was_started_again_has_two_epochs():
    runs, _ = read("run,step,a\nx,1,1\nx,2,2\ny,1,3\nx,1,4\ny,2,5\n")
    assert [[(epoch, step) for epoch, step, _ in records] for _, records in runs] == [
        [(0, 1), (0, 2), (1, 1)],
        [(0, 1), (0, 2)],
    ]


@each_case(
    ("column", "texts", "expected"),
    [
        ("run", ("es_alpha0.0005_sigma0.001_seed3", "ppo-b"), [("es", 3), ("unknown", -1)]),
        ("Run ID", ("a1", "b2"), [("unknown", -1), ("unknown", -1)]),
        ("method", ("PPO", "Evolution Strategies"), [("ppo", -1), ("es", -1)]),
        ("algorithm", ("grpo", "es"), [("grpo", -1), ("es", -1)]),
        ("seed", ("0", "1.0"), [("unknown", 0), ("unknown", 1)]),
        ("experiment", ("baseline", "es-long"), [("unknown", -1), ("es", -1)]),
        ("config/seed", ("4", "5"), [("unknown", 4), ("unknown", 5)]),
        ("model", ("Qwen/Qwen2.5-0.5B", "base"), [("unknown", -1), ("unknown", -1)]),
    ],
)
def test_columns_that_name_runs(column, texts, expected):
    rows = "".join(f"{step},{text},{step}\n" for step in (1, 2) for text in texts)
    runs, reported = read(f"step,{column},a\n{rows}")
    assert [(run.stored_method, run.seed) for run, _ in runs] == expected
    assert [[values for _, _, values in records] for _, records in runs] == [[{"a": 1.0}, {"a": 2.0}]] * 2
    assert reported == []


def test_run_has_the_settings_that_its_columns_state():
    text = "run,seed,sigma,max_steps,model,iteration,a\nx,0,0.01,2,m,1,5\nx,0,0.01,2,m,2,6\ny,0,0.02,3,m,1,7\n"
    runs, _ = read(text, "es/table.csv")
    configs = [config_of(run.stored_method, run.settings) for run, _ in runs]
    assert [config["es"] for config in configs] == [
        {"sigma": 0.01, "iterations": 2},
        {"sigma": 0.02, "iterations": 3},
    ]
    assert [(config["seed"], config["model"]["path"]) for config in configs] == [(0, "m")] * 2
    assert [(run.name, run.state, run.reason) for run, _ in runs] == [
        ("x m seed 0", "succeeded", ""),
        ("y m seed 0", "unknown", "Its rows end at step 1 of 3 and do not state how it ended"),
    ]


def test_column_that_is_the_same_everywhere_states_its_setting_for_the_one_run():
    runs, _ = read("seed,method,step,a\n7,grpo,1,2\n7,grpo,2,3\n")
    ((run, records),) = runs
    assert (run.method, run.seed, records) == ("grpo", 7, [(0, 1, {"a": 2.0}), (0, 2, {"a": 3.0})])


def test_seed_of_each_step_is_a_series():
    ((run, records),), _ = read("iteration,seed,reward\n1,123,0.5\n2,456,0.6\n3,789,0.7\n")
    assert (run.seed, [values["seed"] for _, _, values in records]) == (-1, [123.0, 456.0, 789.0])


def test_final_results_of_several_seeds_are_several_runs():
    runs, _ = read("seed,step,accuracy\n0,500,0.5\n1,500,0.6\n2,500,0.7\n")
    assert [(run.seed, records) for run, records in runs] == [
        (seed, [(0, 500, {"accuracy": accuracy})]) for seed, accuracy in ((0, 0.5), (1, 0.6), (2, 0.7))
    ]


def test_final_results_of_several_methods_may_be_of_different_steps():
    runs, _ = read("method,seed,step,accuracy\nes,0,500,0.5\nes,1,500,0.6\ngrpo,0,90,0.7\ngrpo,1,90,0.8\n")
    assert [(run.method, run.seed, records[0][1]) for run, records in runs] == [
        ("es", 0, 500), ("es", 1, 500), ("grpo", 0, 90), ("grpo", 1, 90),
    ]  # fmt: skip


def test_json_lines_may_state_a_run_s_seed_only_once():
    rows = [
        {"run_id": "x", "run_name": "alpha", "config": {"seed": 3}, "step": 1, "a": 1},
        {"run_id": "y", "run_name": "alpha", "config": {"seed": 4}, "step": 1, "a": 2},
        {"run_id": "x", "run_name": "alpha", "step": 2, "a": 3},
    ]
    runs, _ = read("".join(f"{json.dumps(row)}\n" for row in rows))
    assert [(run.name, run.seed, len(records)) for run, records in runs] == [
        ("alpha seed 3", 3, 2),
        ("alpha seed 4", 4, 1),
    ]


def test_runs_of_one_name_are_distinguished_by_their_ids():
    runs, _ = read("run_name,run_id,step,a\nalpha,x1,1,1\nalpha,x2,1,2\n")
    assert [run.name for run, _ in runs] == ["alpha", "alpha (x2)"]


def test_long_table_has_a_series_for_each_metric():
    text = "run,step,metric,value\na,1,loss,0.1\na,2,loss,0.2\na,1,reward,5\na,2,reward,6\nb,1,loss,1\nb,1,,2\n"
    runs, reported = read(text)
    assert [records for _, records in runs] == [
        [(0, 1, {"loss": 0.1, "reward": 5.0}), (0, 2, {"loss": 0.2, "reward": 6.0})],
        [(0, 1, {"loss": 1.0})],
    ]
    assert reported == ["line 7: has no name in column metric: omitted"]


def chart(*columns: str, rows: str) -> str:
    heading = ",".join(f'"{column}"' for column in columns)
    return f"{heading}\n{rows}"


def with_range(column: str) -> tuple[str, str, str]:
    return column, f"{column}__MIN", f"{column}__MAX"


def test_chart_of_several_runs_is_a_run_for_each():
    columns = ("Step", *with_range("es_sigma0.001_seed0 - train/loss"), *with_range("a - b - train/loss"))
    runs, reported = read(chart(*columns, rows='"1","0.5","0.5","0.5","0.9","0.8","1.0"\n2,0.4,0.4,0.4,,,\n'))
    assert [(run.name, run.stored_method, run.seed, run.settings.get("sigma")) for run, _ in runs] == [
        ("es_sigma0.001_seed0", "es", 0, 0.001),
        ("a - b", "unknown", -1, None),
    ]
    assert [records for _, records in runs] == [
        [(0, 1, {"train/loss": 0.5}), (0, 2, {"train/loss": 0.4})],
        [(0, 1, {"train/loss": 0.9, "train/loss__MIN": 0.8, "train/loss__MAX": 1.0})],
    ]
    assert reported == []


def test_chart_over_time_has_its_steps_in_columns():
    columns = ("Relative Time (Process)", *with_range("a - _step"), *with_range("a - reward"))
    report = ImportReport()
    text = chart(*columns, rows="10.5,0,0,0,0.5,0.5,0.5\n20.5,1,1,1,0.6,0.6,0.6\n")
    entries = [entry for entry in tables.entries(io.BytesIO(text.encode()), "a.csv", report) if entry.record]
    assert [(entry.at, entry.record.step, entry.record.values) for entry in entries] == [
        (10.5, 0, {"reward": 0.5}),
        (20.5, 1, {"reward": 0.6}),
    ]


def test_chart_of_groups_holds_means_and_no_seeds():
    columns = ("train/global_step", *with_range("Group: es - reward"), *with_range("Group: grpo - reward"))
    runs, _ = read(chart(*columns, rows="10,2,1,3,4,4,4\n"))
    assert [(run.name, run.method, run.tags) for run, _ in runs] == [
        ("Group: es", "es", ("aggregate",)),
        ("Group: grpo", "grpo", ("aggregate",)),
    ]
    assert [values for _, records in runs for _, _, values in records] == [
        {"reward/group_mean": 2.0, "reward/group_min": 1.0, "reward/group_max": 3.0},
        {"reward/group_mean": 4.0},
    ]


def test_runs_of_the_same_name_in_a_chart_stay_apart():
    runs, _ = read(chart("Step", "a - loss", "a - loss", rows="1,0.5,0.6\n"))
    assert [(run.name, records) for run, records in runs] == [
        ("a", [(0, 1, {"loss": 0.5})]),
        ("a (2)", [(0, 1, {"loss": 0.6})]),
    ]


def test_dash_in_a_column_names_no_run():
    ((_, records),), _ = read("step,loss - policy,loss - value\n1,2,3\n")
    assert records == [(0, 1, {"loss - policy": 2.0, "loss - value": 3.0})]


def test_table_of_several_runs_is_imported_once_and_grows(ada, tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("run,seed,step,a\nes-x,0,1,1\nes-x,0,2,2\n")
    (first,) = bring_in(path, ada).new_runs
    path.write_text(path.read_text() + "es-x,1,1,3\nes-x,0,3,4\n")
    imported = bring_in(path, ada)
    assert ([run.pk for run in imported.continued_runs], len(imported.new_runs)) == ([first.pk], 1)
    again = bring_in(path, ada)
    assert (len(again.known_runs), again.new_runs, again.continued_runs) == (2, [], [])
    runs = [first, *imported.new_runs]
    for run in runs:
        run.refresh_from_db()
    assert [(run.name, run.preset, run.method, run.seed) for run in runs] == [
        ("es-x seed 0", "es-x", "es", 0),
        ("es-x seed 1", "es-x", "es", 1),
    ]
    assert [curve.y.tolist() for run in runs for curve in metrics.read([run], ["a"])] == [[1.0, 2.0, 4.0], [3.0]]


def steps_and_numbers(text: str) -> list[tuple[str, dict[str, list[tuple[int, float]]]]]:
    """Return (name, step and number of each series) of each run of a table."""
    runs, _ = read(text)
    named = []
    for run, records in runs:
        series: dict[str, list[tuple[int, float]]] = {}
        for _, step, values in records:
            for name, value in values.items():
                series.setdefault(name, []).append((step, value))
        named.append((run.name, series))
    return named


@each_case(
    "column",
    ["label", "name", "group", "job_id", "replicate", "config", "rank", "dir_name", "method_variant"],
)
def test_runs_that_an_unknown_column_tells_apart_are_several(column):
    first, second = ("7", "8") if column in ("job_id", "rank", "replicate") else ("x", "y")
    text = f"step,{column},loss\n1,{first},0.5\n2,{first},0.4\n1,{second},0.7\n2,{second},0.6\n"
    assert steps_and_numbers(text) == [
        (first, {"loss": [(1, 0.5), (2, 0.4)]}), (second, {"loss": [(1, 0.7), (2, 0.6)]}),
    ]  # fmt: skip
    assert f"each value of {column} is a run of its own" in read(text)[1][-1]


def test_table_of_runs_with_a_row_for_each_is_a_run_for_each():
    text = "Name,State,_step,loss\ncalm-sun-1,finished,100,0.5\nwise-owl-2,crashed,100,0.4\nred-fox-3,finished,50,0.9\n"
    assert steps_and_numbers(text) == [
        ("calm-sun-1", {"loss": [(100, 0.5)]}), ("wise-owl-2", {"loss": [(100, 0.4)]}),
        ("red-fox-3", {"loss": [(50, 0.9)]}),
    ]  # fmt: skip


def test_sweep_that_names_no_runs_is_a_run_for_each_combination_of_its_settings():
    rows = [(step, lr, sigma) for lr in (0.1, 0.01) for sigma in (0.5, 0.25) for step in (1, 2)]
    text = "step,lr,sigma,loss\n" + "".join(f"{step},{lr},{sigma},{step + lr + sigma}\n" for step, lr, sigma in rows)
    runs, _ = read(text)
    settings = [(run.name, run.settings["learning_rate"], run.settings["sigma"], len(records)) for run, records in runs]
    assert settings == [
        ("lr0.1 sigma0.5", 0.1, 0.5, 2), ("lr0.1 sigma0.25", 0.1, 0.25, 2),
        ("lr0.01 sigma0.5", 0.01, 0.5, 2), ("lr0.01 sigma0.25", 0.01, 0.25, 2),
    ]  # fmt: skip


@each_case(
    "text",
    [
        "step,split,loss\n1,train,0.5\n1,eval,0.7\n2,train,0.4\n2,eval,0.6\n",
        "step,type,name,value\n1,train,loss,0.5\n1,eval,loss,0.7\n2,train,loss,0.4\n2,eval,loss,0.6\n",
        '{"step": 1, "phase": "train", "loss": 0.5}\n{"step": 1, "phase": "eval", "loss": 0.7}\n'
        '{"step": 2, "phase": "train", "loss": 0.4}\n{"step": 2, "phase": "eval", "loss": 0.6}\n',
    ],
)
def test_splits_of_the_data_are_series_of_one_run(text):
    ((_, series),) = steps_and_numbers(text)
    assert series == {"train/loss": [(1, 0.5), (2, 0.4)], "eval/loss": [(1, 0.7), (2, 0.6)]}


@each_case(
    "rows",
    [
        "1,n1,0.3,0.5\n2,n1,0.2,0.4\n3,n1,0.1,0.3\n2,n2,0.2,0.41\n3,n2,0.1,0.31\n",
        "1,n1,0.1,0.5\n2,n1,0.1,0.4\n3,n1,0.1,0.3\n2,n1,0.1,0.41\n3,n1,0.1,0.31\n",
    ],
    ids=["schedule", "constant"],
)
def test_restart_on_another_host_stays_one_run(rows):
    ((_, records),), _ = read(f"step,host,lr,loss\n{rows}")
    assert [(epoch, step) for epoch, step, _ in records] == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]


def test_rows_that_contradict_each_other_are_reported():
    _, reported = read("step,prompt,reward\n1,a,0.5\n1,b,1.5\n2,a,0.25\n")
    assert reported[0] == (
        "line 3: states step 1 again, with another number as reward: both are saved; if the rows are those of several "
        "runs, name these in a column run"
    )


def test_runs_that_an_unknown_column_tells_apart_may_be_restarted():
    runs, _ = read("step,label,loss\n1,x,0.5\n2,x,0.4\n1,x,0.51\n3,x,0.3\n1,y,0.7\n2,y,0.6\n")
    assert [(run.name, [(epoch, step) for epoch, step, _ in records]) for run, records in runs] == [
        ("x", [(0, 1), (0, 2), (1, 1), (1, 3)]), ("y", [(0, 1), (0, 2)]),
    ]  # fmt: skip


def test_job_that_changes_with_a_restart_names_no_run():
    runs, _ = read("step,job_id,loss\n1,77,0.5\n2,77,0.4\n3,77,0.3\n2,78,0.41\n3,78,0.31\n")
    assert [[(epoch, step) for epoch, step, _ in records] for _, records in runs] == [
        [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
    ]
