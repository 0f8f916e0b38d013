"""Cells of runs tables: the best value, the value at a step, and mean and spread of groups with their n."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.compare.run_table import Kind, Vocabulary
from runs.compare.run_table.spreads import Spread
from runs.models import Experiment, Import, Run
from tests.cases import each_case
from tests.runs.attempt_records import make_attempt
from tests.runs.compare.test_conditions import summary
from tests.runs.full_runs import end, evaluation, make_run, record
from workers.records import Metric

pytestmark = pytest.mark.django_db


def table_of(client: Client, experiment: Experiment, **query: Any) -> tuple[Any, str]:
    reply = client.get(reverse("experiment-runs", args=[experiment.pk]), query)
    assert reply.status_code == 200
    return reply.context["table"], " ".join(reply.content.decode().split())


def seeds(table: Any) -> list[int]:
    return [row.run.seed for row in table.rows]


def messages_of(client: Client, experiment: Experiment, **query: Any) -> list[str]:
    reply = client.get(reverse("experiment-runs", args=[experiment.pk]), query)
    return [str(message) for message in reply.context["messages"]]


@pytest.fixture
def three(experiment: Experiment) -> list[Run]:
    """Runs whose KL was 9 to 0.1, 3 to 2 and 5 to 4, and whose reward was at most 1, 5 and 3."""
    runs = [make_run(experiment, "es-tiny", seed) for seed in range(2)] + [make_run(experiment, "grpo-tiny", 2)]
    for run, (low, high, reward) in zip(runs, ((0.1, 9.0, 1.0), (2.0, 3.0, 5.0), (4.0, 5.0, 3.0)), strict=True):
        summary(run, "kl", high, low, high)
        summary(run, "reward/mean", -1.0, -2.0, reward)
        summary(run, "lambda", 1.0)
    return runs


def test_best_is_the_extreme_in_the_good_direction(
    ada_client: Client, experiment: Experiment, three: list[Run]
) -> None:
    table, _ = table_of(ada_client, experiment, col=["kl.best", "reward.best"], sort="seed")
    assert [[cell.value for cell in row.cells] for row in table.rows] == [[0.1, 1.0], [2.0, 5.0], [4.0, 3.0]]
    assert [heading.column.title for heading in table.headings] == ["Run", "KL best", "Reward best"]


def test_best_sorts_and_filters_in_the_database(ada_client: Client, experiment: Experiment, three: list[Run]) -> None:
    assert seeds(table_of(ada_client, experiment, sort="-reward.best")[0]) == [1, 2, 0]
    assert seeds(table_of(ada_client, experiment, q="kl.best<3", sort="kl.best")[0]) == [0, 1]


def test_best_of_an_unknown_direction_names_min_and_max(
    ada_client: Client, experiment: Experiment, three: list[Run]
) -> None:
    table, _ = table_of(ada_client, experiment, q="lambda.best>1")
    assert [problem.message for problem in table.problems] == [
        "esweb does not know whether a higher lambda is better: use lambda.min or .max."
    ]
    assert messages_of(ada_client, experiment, col="lambda.best") == [table.problems[0].message]


@each_case(
    ("key", "kind", "metric", "step"),
    [
        ("kl@100", Kind.STEP_VALUE, "kl", 100), ("reward@0", Kind.STEP_VALUE, "reward/mean", 0),
        ("pass@1", Kind.METRIC, "pass@1", None), ("pass@1.max", Kind.METRIC, "pass@1", None),
        ("pass@1@5", Kind.STEP_VALUE, "pass@1", 5),
    ],
)  # fmt: skip
def test_key_with_an_at_sign_is_a_step_or_a_metric(key: str, kind: Kind, metric: str, step: int | None) -> None:
    column = Vocabulary(("pass@1",)).column(key)
    assert column is not None
    assert (column.kind, column.metric, column.step) == (kind, metric, step)


@each_case("key", ["kl@", "kl@x", "kl@-1", "kl@1.5", "kl@99999999999999999999", "kl@٣"])
def test_step_that_is_no_whole_number_is_reported(key: str) -> None:
    words = Vocabulary(())
    assert words.column(key) is None
    assert words.unknown_key_message(key) == f"The step in {key!r} must be a whole number from 0, as in kl@100."


def test_value_at_a_step_is_that_of_the_newest_point_before_it(ada_client: Client, experiment: Experiment) -> None:
    early, late, _ = (make_run(experiment, seed=seed) for seed in range(3))
    record(early, [evaluation(step, -float(step)) for step in (0, 5, 10)])
    record(late, [evaluation(8, -8.0)])
    table, page = table_of(ada_client, experiment, col=["reward@7", "reward@10"], sort="seed")
    cells = [[(cell.value, cell.step) for cell in row.cells] for row in table.rows]
    assert cells == [[(-5.0, 5), (-10.0, 10)], [(None, None), (-8.0, 8)], [(None, None), (None, None)]]
    assert '−5 <small class="quiet">step 5</small>' in page and ">−10</a>" in page
    assert [heading.address for heading in table.headings[1:]] == ["", ""]


def test_value_at_a_step_leaves_out_points_that_a_resume_overwrote(ada_client: Client, experiment: Experiment) -> None:
    run = make_run(experiment)
    record(run, [evaluation(step, -float(step)) for step in (0, 5, 10)])
    end(run)
    make_attempt(run, 2)
    record(run, [evaluation(step, -100.0 - step) for step in (4, 6)])
    table, _ = table_of(ada_client, experiment, col=["reward@3", "reward@5", "reward@10"])
    assert [cell.value for cell in table.rows[0].cells] == [0.0, -104.0, -106.0]


def test_value_at_a_step_is_neither_sorted_nor_queried(
    ada_client: Client, experiment: Experiment, three: list[Run]
) -> None:
    words = "kl@100 is read from the points of the displayed runs: sort and filter by kl, kl.min, kl.max or kl.best."
    assert messages_of(ada_client, experiment, sort="-kl@100") == [words]
    table, _ = table_of(ada_client, experiment, q="kl@100<1")
    assert [problem.message for problem in table.problems] == [words]


def test_values_at_steps_take_as_many_queries_for_sixty_runs(ada_client: Client, experiment: Experiment) -> None:
    def queries(**query: Any) -> int:
        with CaptureQueriesContext(connection) as captured:
            table_of(ada_client, experiment, col=["kl@5", "reward@5", "reward@7"], **query)
        return len(captured)

    for seed in range(2):
        record(make_run(experiment, seed=seed), [evaluation(0, -1.0)])
    few = [queries(), queries(group="preset")]
    for seed in range(2, 60):
        record(make_run(experiment, seed=seed), [evaluation(0, -1.0)])
    assert [queries(), queries(group="preset")] == few


def test_spreads_are_std_standard_error_and_t_interval() -> None:
    spread = Spread(4, 1.0, 2.0)
    assert [spread.width(name) for name in ("std", "se", "ci")] == [2.0, 1.0, pytest.approx(3.18245, abs=1e-5)]
    assert Spread(1, 1.0, None).width("std") is None
    assert Spread(2, math.inf, math.nan).width("ci") is None


def test_every_cell_of_a_group_states_its_n(ada_client: Client, experiment: Experiment) -> None:
    for seed, kl in enumerate((0.5, 0.1, None)):
        run = make_run(experiment, "es-tiny", seed)
        if kl is not None:
            summary(run, "kl", kl)
    summary(make_run(experiment, "grpo-tiny", 3), "kl", 2.0)
    cells = {}
    for spread in ("std", "se", "ci"):
        _, page = table_of(ada_client, experiment, group="preset", col=["kl", "kl.max", "reward/mean"], spread=spread)
        cells[spread] = re.findall(r'<td [^>]*class="number">(?!\d+ *</td>)(.*?)</td>', page)
        assert all('<small class="n">n = ' in cell for cell in cells[spread])
    assert cells["std"][0] == '0.300 ± 0.283 <small class="n">n = 2</small>'
    assert cells["se"][0] == '0.300 ± 0.200 <small class="n">n = 2</small>'
    assert cells["ci"][0] == '0.300 ± 2.54 <small class="n">n = 2</small>'
    assert cells["std"][2:4] == ['– <small class="n">n = 0</small>', '2 <small class="n">n = 1</small>']


def test_spread_is_chosen_beside_the_table_and_stays(
    ada_client: Client, experiment: Experiment, three: list[Run]
) -> None:
    table, page = table_of(ada_client, experiment, group="preset", spread="ci")
    assert "± is half of the 95 % t-interval" in page
    assert [(name, "spread=ci" in address) for name, _, address in table.query.spreads][2] == ("ci", True)
    assert ("spread", "ci") in table.query.without_group
    assert messages_of(ada_client, experiment, group="preset", spread="x") == [
        "spread must be one of std, se, ci, not 'x': showing std."
    ]


@each_case(
    ("sort", "names"),
    [
        ("", ["es-tiny", "grpo-tiny"]), ("n", ["grpo-tiny", "es-tiny"]), ("-n", ["es-tiny", "grpo-tiny"]),
        ("kl", ["grpo-tiny", "es-tiny"]), ("-kl", ["es-tiny", "grpo-tiny"]), ("-created", ["es-tiny", "grpo-tiny"]),
    ],
)  # fmt: skip
def test_groups_are_sorted_by_a_mean_or_by_their_runs(
    ada_client: Client, experiment: Experiment, three: list[Run], sort: str, names: list[str]
) -> None:
    table, _ = table_of(ada_client, experiment, group="preset", sort=sort)
    assert [group.names[0] for group in table.groups] == names


def test_heading_of_groups_shows_the_order_and_the_largest_first(
    ada_client: Client, experiment: Experiment, three: list[Run]
) -> None:
    table, page = table_of(ada_client, experiment, group="preset", col=["kl", "kl@5"])
    assert (table.count_heading.sorted, table.count_heading.address) == (
        "descending",
        "?group=preset&col=kl&col=kl@5&sort=n",
    )
    assert [heading.address for heading in table.headings[1:]] == ["?group=preset&col=kl&col=kl@5&sort=-kl", ""]
    assert page.count('aria-sort="descending"') == 1
    table, _ = table_of(ada_client, experiment, group="preset", sort="-n")
    assert "sort" not in table.query.ungrouped and "sort" not in table.groups[0].address


def test_group_without_a_mean_is_sorted_last(ada_client: Client, experiment: Experiment) -> None:
    for seed, (preset, reward) in enumerate((("es-tiny", 9.0), ("es-tiny", 8.0), ("grpo-tiny", 1.0))):
        run = make_run(experiment, preset, seed)
        record(run, [evaluation(5, reward)])
    Import.objects.create(run=Run.objects.get(seed=0), kind="log", name="0", sha256="0" * 64, bytes=1, part=0)
    for sort in ("-reward", "reward"):
        table, page = table_of(ada_client, experiment, group="preset", sort=sort)
        assert [group.names[0] for group in table.groups] == ["grpo-tiny", "es-tiny"]
    assert "measured differently (n = 2)" in page


def test_groups_average_values_at_a_step(ada_client: Client, experiment: Experiment) -> None:
    for seed, reward in enumerate((-1.0, -3.0)):
        record(make_run(experiment, seed=seed), [evaluation(5, reward), evaluation(10, -50.0)])
    record(make_run(experiment, seed=2, state="partial"), [evaluation(5, -100.0)])
    table, page = table_of(ada_client, experiment, group="preset", col=["reward@5", "kl"])
    spread = table.groups[0].row.numbers["reward/mean@5"]
    assert (spread.n, spread.mean, spread.sd) == (2, -2.0, pytest.approx(math.sqrt(2)))
    assert list(table.groups[0].row.numbers) == ["reward/mean@5", "kl"]
    assert "−2 ± 1.41" in page


def test_group_with_too_many_runs_has_no_value_at_a_step(
    ada_client: Client, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.compare.run_table.group_steps.MAX_STEP_RUNS", 2)
    for seed in range(3):
        record(make_run(experiment, "es-tiny", seed), [evaluation(5, -1.0)])
    record(make_run(experiment, "grpo-tiny", 3), [evaluation(5, -2.0)])
    table, page = table_of(ada_client, experiment, group="preset", col=["reward@5"])
    assert [group.row.numbers["reward/mean@5"].is_unread for group in table.groups] == [True, False]
    assert "too many runs to read" in page and "−2 <small" in page


def test_value_that_is_not_a_number_is_in_no_mean(ada_client: Client, experiment: Experiment) -> None:
    for seed, value in enumerate((1.0, math.nan)):
        record(make_run(experiment, seed=seed), [Metric(0, {"train/x": value})])
    table, _ = table_of(ada_client, experiment, group="preset", col=["train/x", "train/x@3"])
    assert [(s.n, s.mean) for s in table.groups[0].row.numbers.values()] == [(1, 1.0), (1, 1.0)]
