"""The pinned run of a runs table: always the first row, with differences in the others, which can be sorted by them."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from runs.compare import run_table
from runs.compare.run_table.gap_order import GapOrigin
from runs.models import Experiment, Import, Run, Series
from tests.cases import each_case
from tests.runs.compare.test_conditions import summary
from tests.runs.compare.test_table_cells import messages_of, seeds, table_of
from tests.runs.full_runs import evaluation, make_run, record

pytestmark = pytest.mark.django_db
KLS = (1.0, 1.5, 0.2, None, math.nan, 9.0, math.inf, 1.0)


@pytest.fixture
def runs(experiment: Experiment) -> list[Run]:
    """Runs with these KLs, by seed."""
    created = [make_run(experiment, seed=seed) for seed in range(len(KLS))]
    for run, kl in zip(created, KLS, strict=True):
        if kl is not None:
            summary(run, "kl", kl)
    return created


def gaps(table: Any, place: int = 0) -> dict[int, float | None]:
    """Return seed -> difference of the cells at this place that have one."""
    cells = {row.run.seed: row.cells[place] for row in table.rows}
    return {seed: cell.gap.difference for seed, cell in cells.items() if cell.gap}


@each_case("query", [{}, {"q": "seed>3"}, {"sort": "-kl"}, {"q": "name~none"}, {"q": "archived:yes"}])
def test_pinned_run_is_the_first_row_whatever_the_table_shows(
    ada_client: Client, experiment: Experiment, runs: list[Run], query: dict[str, str]
) -> None:
    table, page = table_of(ada_client, experiment, pin=runs[2].uid, **query)
    assert table.pinned.run == runs[2] and runs[2].pk not in [row.run.pk for row in table.rows]
    assert page.count('<tr role="row" class="pinned">') == 1 and page.count('aria-pressed="true"') == 1
    assert page.index('class="pinned"') < page.index(runs[2].name, page.index("<tbody"))
    assert ("No run matches" in page) == (not table.rows)


def test_cells_show_their_difference_from_the_pinned_run(
    ada_client: Client, experiment: Experiment, runs: list[Run]
) -> None:
    for run, accuracy in zip(runs, (0.5, 0.75), strict=False):
        summary(run, "accuracy/contains", accuracy)
    columns = ["kl", "accuracy/contains", "seed", "step", "es.sigma"]
    table, page = table_of(ada_client, experiment, pin=runs[0].uid, col=columns)
    assert gaps(table) == {1: 0.5, 2: pytest.approx(-0.8), 5: 8.0, 7: 0.0}
    assert (gaps(table, 1), gaps(table, 2), gaps(table, 4)) == ({1: 0.25}, {}, {})
    worse, better = '<small class="gap worse" title="worse">', '<small class="gap better" title="better">'
    assert f'{worse}<span aria-hidden="true">△</span> +0.500<span class="only-read-aloud"> worse</span>' in page
    assert f'{better}<span aria-hidden="true">▼</span> −0.800<span' in page
    assert f'{better}<span aria-hidden="true">▲</span> +25 pp<span' in page
    assert '<small class="gap">0</small>' in page


def test_difference_of_values_measured_differently_is_no_number(ada_client: Client, experiment: Experiment) -> None:
    runs = [make_run(experiment, seed=seed) for seed in range(3)]
    for run, reward in zip(runs, (-1.0, -2.0, -50.0), strict=True):
        record(run, [evaluation(5, reward)])
    Import.objects.create(run=runs[2], kind="log", name="2", sha256="2" * 64, bytes=1, part=0)
    table, page = table_of(ada_client, experiment, pin=runs[0].uid, col=["reward/mean", "step"], sort="-gap:reward")
    assert gaps(table) == {1: -1.0, 2: None} and gaps(table, 1) == {1: 0, 2: 0}
    assert 'class="gap unlike" title="measured differently from the pinned run">≠' in page
    assert seeds(table) == [1, 2]
    assert table_of(ada_client, experiment, pin=runs[2].uid, sort="-gap:reward")[0].query.order.gap.facts is not None


def test_runs_are_sorted_by_their_difference_from_the_pinned_run(
    ada_client: Client, experiment: Experiment, runs: list[Run]
) -> None:
    uid = runs[0].uid
    assert seeds(table_of(ada_client, experiment, pin=uid, sort="-gap:kl")[0]) == [5, 2, 1, 7, 6, 4, 3]
    assert seeds(table_of(ada_client, experiment, pin=uid, sort="gap:kl")[0]) == [7, 1, 2, 5, 6, 4, 3]
    assert seeds(table_of(ada_client, experiment, pin=uid, sort="-gap:kl", q="kl>0.5")[0]) == [5, 1, 7, 6]


def test_a_heading_sorts_by_the_difference_with_a_second_link(
    ada_client: Client, experiment: Experiment, runs: list[Run]
) -> None:
    table, _ = table_of(ada_client, experiment)
    assert {heading.gap_address for heading in table.headings} == {""}
    table, page = table_of(ada_client, experiment, pin=runs[0].uid, col=["kl", "method", "kl@5"])
    assert [bool(heading.gap_address) for heading in table.headings] == [False, True, False, False]
    assert 'aria-label="Sort by the difference of KL from the pinned run"' in page
    table, page = table_of(ada_client, experiment, pin=runs[0].uid, sort="-gap:kl")
    (heading,) = [heading for heading in table.headings if heading.column.key == "kl"]
    assert (heading.sorted, heading.gap_sorted) == ("", "descending")
    assert heading.gap_address.endswith("sort=gap:kl") and 'aria-sort="other"' in page


@each_case("descending", [True, False])
@each_case("key", ["kl", "kl.max", "step", "time"])
def test_pages_by_difference_hold_every_run_once(
    experiment: Experiment, runs: list[Run], key: str, *, descending: bool
) -> None:
    column = run_table.vocabulary(experiment).column(key)
    order = run_table.Order(column, descending, GapOrigin(1.0))
    orders = []
    for size, few in ((1, None), (3, [run.pk for run in runs]), (100, None)):
        paged, after = [], None
        while not paged or after is not None:
            rows, after = run_table.page(Run.objects.filter(experiment=experiment), order, after, size, few=few)
            after = after and order.parse_cursor(str(after))
            paged += rows
        orders.append([run.pk for run in paged])
    assert orders[0] == orders[1] == orders[2] and sorted(orders[0]) == [run.pk for run in runs]


def test_sort_by_difference_without_a_value_of_the_pinned_run_shows_all(
    ada_client: Client, experiment: Experiment, runs: list[Run]
) -> None:
    table, _ = table_of(ada_client, experiment, pin=runs[3].uid, sort="-gap:kl")
    assert seeds(table) == [7, 6, 5, 4, 2, 1, 0] and gaps(table, 7) == {}


@pytest.mark.parametrize("uid", ["unknown", "x" * 5000, "<b>"])
def test_unknown_pinned_run_is_reported_and_the_table_shown(
    ada_client: Client, experiment: Experiment, runs: list[Run], uid: str
) -> None:
    words = f"This experiment has no run {uid[:20]} to pin: showing the table without it."
    assert messages_of(ada_client, experiment, pin=uid, sort="-gap:kl") == [words]
    table, _ = table_of(ada_client, experiment, pin=uid, sort="-gap:kl")
    assert table.pinned is None and seeds(table) == [7, 6, 5, 4, 3, 2, 1, 0]
    assert "pin" not in table.query.first


def test_run_of_another_experiment_is_not_pinned(
    ada_client: Client, experiment: Experiment, private_experiment: Experiment, runs: list[Run]
) -> None:
    other = make_run(private_experiment)
    assert table_of(ada_client, experiment, pin=other.uid)[0].pinned is None


@pytest.mark.parametrize(
    ("sort", "words"),
    [
        ("gap:kl", "Pin a run to sort by the difference from it."),
        ("gap:method", "After gap: must be a metric, step or time, as in sort=-gap:kl."),
        ("gap:nothing", "After gap: must be a metric, step or time, as in sort=-gap:kl."),
    ],
)
def test_order_by_an_impossible_difference_is_reported(
    ada_client: Client, experiment: Experiment, runs: list[Run], sort: str, words: str
) -> None:
    pin = {} if sort == "gap:kl" else {"pin": runs[0].uid}
    assert messages_of(ada_client, experiment, sort=sort, **pin) == [words]


def test_pin_costs_one_query_however_many_runs(ada_client: Client, experiment: Experiment, runs: list[Run]) -> None:
    def queries(**query: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            table_of(ada_client, experiment, **query)
        return len(captured)

    queries()
    assert queries(pin=runs[0].uid) == queries() + 1


def test_unpinning_keeps_the_rest_of_the_address(ada_client: Client, experiment: Experiment, runs: list[Run]) -> None:
    query = table_of(ada_client, experiment, pin=runs[0].uid, q="seed>1", sort="-gap:kl")[0].query
    assert query.unpinned == [("q", "seed>1")]
    assert query.without_pin == [("q", "seed>1"), ("sort", "-gap:kl")]
    assert Series.objects.count() == 7


def test_run_that_has_not_started_has_no_difference_in_time(ada_client: Client, experiment: Experiment) -> None:
    now = timezone.now()
    for seed, seconds in enumerate((100, 130, None)):
        run = make_run(experiment, seed=seed, state="succeeded")
        if seconds:
            run.attempts.update(started_at=now - timedelta(seconds=seconds), ended_at=now)
    pinned = Run.objects.get(seed=0)
    table, _ = table_of(ada_client, experiment, pin=pinned.uid, sort="-gap:time", col=["time"])
    assert (seeds(table), gaps(table)) == ([1, 2], {1: pytest.approx(30.0)})
    table, _ = table_of(ada_client, experiment, group="preset", col=["time"])
    assert [(s.n, s.mean) for s in table.groups[0].row.numbers.values()] == [(2, pytest.approx(115.0))]
