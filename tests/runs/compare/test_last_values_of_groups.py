"""One rule for the last value of a group: its runs' values at the last step that all of them have.

Five places print it: the sentence and the mean line of a chart, a table of runs that is grouped, the final results of a
comparison, and the table of a sweep.
"""

from __future__ import annotations

import csv
import io
import math
import re

import pytest
from django.test import Client
from django.urls import reverse

from runs.compare.run_table import GroupRow
from runs.launching.sweeps.commands import NewSweep, launch_sweep
from runs.models import Experiment, Run
from tests.runs.compare.compared_pages import address, page_of, section_of, text_of
from tests.runs.compare.test_pages import figures
from tests.runs.full_runs import evaluation, make_run, record
from workers.config import preset

pytestmark = pytest.mark.django_db

ENDS = {0: [-40.0, -20.0, -6.0, -2.0], 1: [-40.0, -30.0], 2: [-40.0, -31.0, -9.0]}
"""Rewards by seed, every five steps. All three seeds have step 5; their mean there is −27, that of their ends −13.7."""
MEAN, STEP, LAST = -27.0, 5, 15


def uneven(experiment: Experiment, ends: dict[int, list[float]] = ENDS, name: str = "es-tiny") -> list[Run]:
    runs = [make_run(experiment, name, seed, "succeeded") for seed in ends]
    for run, rewards in zip(runs, ends.values(), strict=True):
        record(run, [evaluation(5 * i, reward) for i, reward in enumerate(rewards)])
    return runs


def grouped_row(client: Client, experiment: Experiment, **query: str) -> GroupRow:
    page = client.get(experiment.get_absolute_url(), {"group": "recipe", "col": ["reward/mean", "kl.max"], **query})
    (group,) = page.context["table"].groups
    row = group.row
    assert isinstance(row, GroupRow)
    return row


def test_sentence_of_a_group_ends_at_the_last_step_of_all(ada_client: Client, experiment: Experiment) -> None:
    runs = uneven(experiment)
    words = text_of(page_of(ada_client, runs, "compare-chart", name="reward/mean", group="recipe"))
    assert (
        "es-tiny rose from −40 to −27 (n = 3 until step 5, the last that all runs have; the longest continues to step "
        "15)." in words
    )


def test_mean_line_of_a_group_ends_at_the_last_step_of_all(ada_client: Client, experiment: Experiment) -> None:
    runs = uneven(experiment)
    (figure,) = figures(page_of(ada_client, runs, "compare-chart", name="reward/mean", group="recipe"))
    data = figure["data"]
    bold = next(trace for trace in data if trace["name"] == "es-tiny (n = 3)")
    assert (bold["x"], bold["y"]) == ([0, 5], [-40, -27])
    rest = next(trace for trace in data if trace["name"] == "es-tiny, fewer runs")
    assert (rest["x"], rest["y"]) == ([5, 10, 15], [-27, -7.5, -2])


def test_grouped_table_shows_values_at_the_last_step_of_all(ada_client: Client, experiment: Experiment) -> None:
    uneven(experiment)
    row = grouped_row(ada_client, experiment)
    reward = row.numbers["reward/mean"]
    assert (reward.n, reward.mean, reward.step, reward.last_steps) == (3, MEAN, STEP, (5, LAST))
    assert row.numbers["kl.max"].mean == pytest.approx((0.15 + 0.05 + 0.1) / 3)
    page = text_of(ada_client.get(experiment.get_absolute_url(), {"group": "recipe"}).content.decode())
    assert "−27 ± 6.08 n = 3 at step 5" in page


def test_final_results_compare_values_at_the_last_step_of_all(ada_client: Client, experiment: Experiment) -> None:
    runs = [*uneven(experiment), *uneven(experiment, {0: [-40.0, -50.0], 1: [-40.0, -52.0]}, "grpo-tiny")]
    section = text_of(section_of(page_of(ada_client, runs), "standings"))
    assert "−27 ± 6.08 n = 3, seeds 0, 1, 2 at step 5" in section
    assert (
        "es-tiny, values at step 5, the last at which all seeds have a finite value: Held-out reward, Accuracy, KL, "
        "nats per token. Last steps of the seeds: 5, 10, 15." in section
    )
    table = ada_client.get(address(runs, "compare-table", table="results", **{"as": "csv"})).content.decode()
    es, grpo = list(csv.DictReader(io.StringIO(table)))[:2]
    assert (float(es["value mean"]), es["step"]) == (MEAN, "5")
    assert float(grpo["difference"]) == -51 - MEAN


def test_sentence_of_many_lines_ends_at_the_last_step_of_all(ada_client: Client, experiment: Experiment) -> None:
    runs = uneven(experiment, {**ENDS, 3: [-40.0, -27.0, -9.0]})
    words = text_of(page_of(ada_client, runs, "compare-chart", name="reward/mean"))
    assert "es-tiny ends at −31 to −20 (n = 4 until step 5, the last that all runs have" in words


def test_sweep_table_shows_values_at_the_last_step_of_all(
    ada_client: Client, experiment: Experiment, local: object, runs_dir: object
) -> None:
    new = NewSweep(
        base=preset("es-micro").config, grid={"es.sigma": [0.1]}, seeds=[0, 1, 2], preset="es-micro", at_once=2
    )
    sweep = launch_sweep(new, experiment, experiment.owner)
    for run in sweep.runs.all():
        record(run, [evaluation(5 * i, reward) for i, reward in enumerate(ENDS[run.seed])])
    text = text_of(ada_client.get(reverse("sweep", args=[sweep.pk])).content.decode())
    assert re.search(r"−27 .{0,80}at step 5", text), text[:3000]


def test_run_that_ended_without_a_number_counts_as_ended_before(ada_client: Client, experiment: Experiment) -> None:
    runs = uneven(experiment, {0: [-40.0, -20.0, -6.0], 1: [-40.0, -30.0, math.nan]})
    words = text_of(page_of(ada_client, runs, "compare-chart", name="reward/mean", group="recipe"))
    assert "rose from −40 to −25 (n = 2 until step 5, the last that all runs have" in words
    reward = grouped_row(ada_client, experiment).numbers["reward/mean"]
    assert (reward.n, reward.mean, reward.step) == (2, -25.0, 5)
    assert "−25 ± 7.07 n = 2, seeds 0, 1 at step 5" in text_of(section_of(page_of(ada_client, runs), "standings"))


def test_runs_without_a_common_step_have_no_last_value(ada_client: Client, experiment: Experiment) -> None:
    runs = [make_run(experiment, seed=seed, state="succeeded") for seed in range(2)]
    for run, steps in zip(runs, ((0, 10), (1, 11)), strict=True):
        record(run, [evaluation(step, -40.0 + step) for step in steps])
    words = text_of(page_of(ada_client, runs, "compare-chart", name="reward/mean", group="recipe"))
    assert "es-tiny has no last value, because its 2 runs have no point in common." in words
    reward = grouped_row(ada_client, experiment).numbers["reward/mean"]
    assert (reward.n, reward.mean, reward.step, reward.last_steps) == (0, None, None, (10, 11))
    section = text_of(section_of(page_of(ada_client, runs), "standings"))
    assert section.count("no common step") == 3
    assert (
        "es-tiny, no step is common to all seeds, so there is no value: Held-out reward, Accuracy, KL, nats per token. "
        "Last steps of the seeds: 10, 11." in section
    )


def test_groups_are_sorted_by_the_means_that_they_show(ada_client: Client, experiment: Experiment) -> None:
    uneven(experiment)
    uneven(experiment, {0: [-40.0, -20.0], 1: [-40.0, -24.0]}, "grpo-tiny")
    for sort, names in (("-reward", ["grpo-tiny", "es-tiny"]), ("reward", ["es-tiny", "grpo-tiny"])):
        page = ada_client.get(experiment.get_absolute_url(), {"group": "preset", "sort": sort})
        assert [group.names[0] for group in page.context["table"].groups] == names


def test_group_with_too_many_runs_states_that_it_shows_own_ends(
    ada_client: Client, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.compare.run_table.group_steps.MAX_STEP_RUNS", 2)
    uneven(experiment)
    reward = grouped_row(ada_client, experiment).numbers["reward/mean"]
    assert (reward.n, reward.mean, reward.has_own_ends) == (3, pytest.approx(-41 / 3), True)
    page = ada_client.get(experiment.get_absolute_url(), {"group": "recipe"}).content.decode()
    assert "n = 3 at steps 5 to 15" in text_of(page)
    assert "Each run&#x27;s own last value. Points are read for at most 1000 runs" in page.replace("&#39;", "&#x27;")


def test_table_files_state_the_step(ada_client: Client, experiment: Experiment) -> None:
    uneven(experiment)
    url, query = (
        reverse("experiment-table", args=[experiment.pk]),
        {"group": "preset", "col": ["reward/mean", "kl.max"]},
    )
    (row,) = csv.DictReader(io.StringIO(ada_client.get(url, {**query, "as": "csv"}).content.decode()))
    assert (row["reward/mean mean"], row["reward/mean step"], row["kl.max step"]) == (str(MEAN), str(STEP), "")
    latex = ada_client.get(url, {**query, "as": "latex"}).content.decode()
    assert "% reward/mean: at the last step that all runs of a group have." in latex


def test_even_groups_read_no_points(
    ada_client: Client, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.charts.group_ends.last_values", None)
    runs = uneven(experiment, {0: [-40.0, -20.0], 1: [-40.0, -30.0]})
    assert grouped_row(ada_client, experiment).numbers["reward/mean"].last_steps is None
    table = ada_client.get(address(runs, "compare-table", table="results", **{"as": "csv"})).content.decode()
    assert next(csv.DictReader(io.StringIO(table)))["step"] == "5"
