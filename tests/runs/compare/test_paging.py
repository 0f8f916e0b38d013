import json
import math
from base64 import urlsafe_b64encode
from contextlib import suppress

import pytest

from runs.compare import run_table
from runs.models import Run, Series
from tests.cases import each_case
from tests.runs.attempt_records import make_run

pytestmark = pytest.mark.django_db
VALUES = [0.5, math.nan, -1.0, 0.5, math.inf, 0.5, None, -math.inf, 7.0, None]


@pytest.fixture
def runs(experiment):
    """Ten runs with ties, with and without a KL and an es.sigma."""
    created = [make_run(experiment, f"run {i % 3}") for i in range(len(VALUES))]
    for run, value in zip(created, VALUES, strict=True):
        if value is not None:
            Series.objects.create(run=run, key="kl", points=1, last_step=1, last_value=value)
        run.config["es"]["antithetic"] = value == 0.5
        run.config["es"]["lora"] = {"targets": ["é" * 190, value == 0.5]}
        if value is not None and math.isfinite(value):
            run.config["es"]["sigma"] = value if value != 7.0 else "text"
        run.save()
    return created


KEYS = ["created", "name", "state", "seed", "step", "time", "kl", "es.sigma", "es.antithetic", "es.lora.targets", "by"]


def walk_pages(experiment, order, size, few=None):
    """Return the rows of all pages in order; each cursor is read back from its text, as an address gives it."""
    paged, after, pages = [], None, 0
    while pages == 0 or after is not None:
        rows, after = run_table.page(Run.objects.filter(experiment=experiment), order, after, size, few=few)
        after = after and order.parse_cursor(str(after))
        paged += rows
        pages += 1
        assert len(rows) <= size
    assert pages == max(1, math.ceil(len(paged) / size))
    return paged


@pytest.mark.parametrize("descending", [True, False])
def test_pages_hold_every_run_once_in_the_order_of_one_long_page(runs, experiment, descending):
    for key in KEYS:
        order = run_table.Order(run_table.vocabulary(experiment).column(key), descending)
        every = walk_pages(experiment, order, 1)
        assert sorted(run.pk for run in every) == [run.pk for run in runs], key
        assert every == walk_pages(experiment, order, 100), key


@pytest.mark.parametrize("descending", [True, False])
def test_runs_that_are_named_are_paged_as_all_are(runs, experiment, descending):
    few = run_table.count_runs(experiment.runs.all()).few
    for key in KEYS:
        order = run_table.Order(run_table.vocabulary(experiment).column(key), descending)
        every = walk_pages(experiment, order, 100)
        assert walk_pages(experiment, order, 4, few) == every, key
        assert walk_pages(experiment, order, 3, few[:4]) == [run for run in every if run.pk in few[:4]], key


@each_case("key", ["name", "by", "es.antithetic"])
def test_equal_values_are_ordered_by_age_in_the_direction_of_the_order(runs, experiment, key):
    column = run_table.vocabulary(experiment).column(key)
    rising = walk_pages(experiment, run_table.Order(column, descending=False), 3)
    assert walk_pages(experiment, run_table.Order(column, descending=True), 3) == rising[::-1]
    if key == "by":
        assert rising == runs


def test_a_few_runs_are_named_and_many_are_only_counted(runs, experiment, monkeypatch):
    count = run_table.count_runs(experiment.runs.all())
    assert (count.total, sorted(count.few)) == (len(runs), [run.pk for run in runs])
    assert run_table.count_runs(experiment.runs.none()) == run_table.RunCount(0, ())
    monkeypatch.setattr("runs.compare.run_table.queries.FEW", len(runs) - 1)
    assert run_table.count_runs(experiment.runs.all()) == run_table.RunCount(len(runs), None)


def test_numbers_are_sorted_as_numbers_and_what_is_none_comes_last(runs, experiment):
    column = run_table.vocabulary(experiment).column("kl")
    for descending, first in ((True, [math.inf, 7.0, 0.5, 0.5, 0.5, -1.0, -math.inf]), (False, None)):
        rows = walk_pages(experiment, run_table.Order(column, descending), 3)
        values = [VALUES[runs.index(run)] for run in rows]
        assert values[:7] == (first or [-math.inf, -1.0, 0.5, 0.5, 0.5, 7.0, math.inf])
        assert [runs.index(run) for run in rows[7:]] == [9, 6, 1]


def test_a_run_that_comes_in_meanwhile_shifts_nothing(runs, experiment):
    order = run_table.Order(run_table.vocabulary(experiment).column("created"), True)
    first, after = run_table.page(experiment.runs.all(), order, None, 4)
    make_run(experiment, "new")
    second, _ = run_table.page(experiment.runs.all(), order, after, 4)
    assert [*first, *second] == runs[:-9:-1]


@each_case("text", ["", "x", "e30", "WzEsMl0x", "W251bGwsIDBd", "W1tdLCAxXQ", "[" * 5000, "é"])
def test_a_place_that_no_page_gave_is_refused(runs, experiment, text):
    with pytest.raises(run_table.NotACursor):
        run_table.Order(run_table.vocabulary(experiment).column("kl"), True).parse_cursor(text)


ODD = [None, True, 1, 0.5, 1e308, math.inf, math.nan, 10**30, "x", "\x00", "\ud800", [], [math.inf], {"a": "\x00"}, {}]


@each_case("key", ["created", "name", "state", "seed", "step", "time", "kl", "es.sigma", "by"])
def test_a_place_of_another_order_is_refused_or_serves(runs, experiment, key):
    order = run_table.Order(run_table.vocabulary(experiment).column(key), False)
    served = 0
    for value in ODD:
        text = urlsafe_b64encode(json.dumps([value, 3]).encode()).decode()
        with suppress(run_table.NotACursor):
            run_table.page(Run.objects.all(), order, order.parse_cursor(text), 3)
            served += 1
    assert 0 < served < len(ODD)
