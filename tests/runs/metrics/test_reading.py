"""Curves are read as written, along any axis, overwritten points marked, in two queries for any number of runs."""

import numpy as np
import pytest

from runs.ingest import ingest
from runs.metrics import backlog, cursor, keys, latest, read, since
from tests.cases import each_case
from tests.runs.attempt_records import NOON, lines, make_attempt, make_run, metrics
from workers.records import Metric


@pytest.fixture
def attempt(experiment):
    return make_attempt(make_run(experiment))


def write(attempt, *points, epoch=0, first=0):
    """Write (step, value) pairs of key a, with tokens = 100 × step."""
    records = [Metric(step, {"a": value}, {"tokens": 100.0 * step}) for step, value in points]
    ingest(attempt, epoch, lines(records, first), offset=1)


def test_a_curve_holds_its_points_by_step(attempt):
    write(attempt, (0, 1.0), (10, 2.0))
    (curve,) = read([attempt.run], ["a"])
    assert (curve.run_id, curve.key, curve.points) == (attempt.run.pk, "a", 2)
    assert (list(curve.x), list(curve.y), list(curve.overwritten)) == ([0, 10], [1, 2], [False, False])
    assert curve.x.dtype == curve.y.dtype == np.float64


@each_case(
    ("x", "expected"),
    [
        ("step", [0, 10]),
        ("wall", [NOON, NOON + 1]),
        ("relative", [0, 1]),
        ("tokens", [0, 1000]),
    ],
)
def test_every_axis_places_the_points(attempt, x, expected):
    write(attempt, (0, 1.0), (10, 2.0))
    (curve,) = read([attempt.run], ["a"], x=x)
    assert list(curve.x) == expected


def test_points_without_a_counter_have_no_place_on_it(attempt):
    write(attempt, (0, 1.0), (10, 2.0))
    assert read([attempt.run], ["a"], x="gpu_seconds") == []
    ingest(attempt, 0, lines([Metric(20, {"a": 3.0})], first=2))
    (curve,) = read([attempt.run], ["a"], x="tokens")
    assert (list(curve.y), curve.points) == ([1, 2], 2)


def test_relative_time_counts_from_the_runs_first_point_of_any_key(attempt):
    ingest(attempt, 0, lines([Metric(0, {"b": 0.0}), *[Metric(1, {"a": 1.0})] * 2]))
    (curve,) = read([attempt.run], ["a"], x="relative")
    assert list(curve.x) == [1, 2]


def test_an_unknown_axis_names_the_valid_ones(attempt):
    with pytest.raises(ValueError, match="must be one of step, wall, relative, tokens, samples, gpu_seconds"):
        read([attempt.run], ["a"], x="epoch")


def test_a_resume_greys_what_it_overwrites(attempt):
    write(attempt, (1, 1.0), (2, 2.0), (3, 3.0))
    write(make_attempt(attempt.run, 2, "failed"), (2, 20.0), (3, 30.0))
    (curve,) = read([attempt.run], ["a"])
    assert list(curve.y) == [1, 2, 3, 20, 30]
    assert list(curve.overwritten) == [False, True, True, False, False]


def test_the_order_is_that_of_attempts_and_epochs_not_of_arrival(attempt):
    write(make_attempt(attempt.run, 2, "failed"), (2, 20.0))
    write(attempt, (1, 10.0), epoch=1)
    write(attempt, (1, 1.0), (2, 2.0), epoch=0)
    (curve,) = read([attempt.run], ["a"])
    assert list(curve.y) == [1, 2, 10, 20]
    assert list(curve.overwritten) == [True, True, False, False]


def test_disorder_inside_one_epoch_is_put_in_order_and_greys_nothing(attempt):
    write(attempt, (3, 3.0), (1, 1.0))
    write(attempt, (2, 2.0), first=2)
    (curve,) = read([attempt.run], ["a"])
    assert list(curve.x) == [1, 2, 3]
    assert not curve.overwritten.any()


def test_curves_are_ordered_by_run_and_key(attempt):
    other = make_attempt(make_run(attempt.run.experiment, "grpo 0"))
    write(attempt, (0, 1.0))
    ingest(other, 0, lines([Metric(0, {"a": 5.0, "b": 6.0})]))
    curves = read([other.run, attempt.run], ["b", "a", "b", "none"])
    assert [(c.run_id, c.key) for c in curves] == [(other.run.pk, "b"), (other.run.pk, "a"), (attempt.run.pk, "a")]


def test_the_number_of_queries_does_not_depend_on_runs_keys_or_batches(attempt, django_assert_num_queries):
    others = [make_attempt(make_run(attempt.run.experiment, f"es {i}")) for i in range(5)]
    for current in (attempt, *others):
        for step in range(3):
            write(current, (step, 1.0), first=step)
    # Besides the one question for the points, which has a cursor of its own.
    with django_assert_num_queries(0):
        read([attempt.run], ["a"], px=100)
    with django_assert_num_queries(2):
        read([current.run for current in others], ["a", "axes/tokens"], x="relative", px=100)


def test_down_sampling_counts_all_points_and_shares_the_columns_of_all_curves(attempt):
    other = make_attempt(make_run(attempt.run.experiment, "grpo 0"))
    ingest(attempt, 0, metrics(5000))
    ingest(other, 0, metrics(500))
    long, short = read([attempt.run, other.run], ["reward/mean"], px=100)
    assert (long.points, short.points) == (5000, 500)
    assert len(long.x) <= 400
    assert len(short.x) <= 4 * 11
    assert (short.x[0], short.x[-1]) == (0, 499)


def test_keys_leave_axes_out(attempt):
    write(attempt, (0, 1.0))
    assert keys(attempt.run) == ["a"]
    assert latest([attempt.run]) == {attempt.run.pk: {"a": 1.0, "axes/tokens": 0.0}}


def test_a_cursor_leads_to_the_batches_after_it(attempt):
    assert cursor(attempt.run) == 0
    write(attempt, (0, 1.0))
    before = cursor(attempt.run)
    write(attempt, (1, 2.0), first=1)
    write(attempt, (2, 3.0), first=2)
    changes = since(attempt.run.pk, before)
    assert [list(points.column("a")[1]) for _, points in changes] == [[2], [3]]
    assert changes[-1][0] == cursor(attempt.run)
    assert backlog(attempt.run.pk, cursor(attempt.run)) == 0 < backlog(attempt.run.pk, before)
    (curve,) = read([attempt.run], ["a"])
    assert curve.cursor == cursor(attempt.run)


def test_packed_batches_are_not_repacked(db):
    from django.db import connection

    with connection.cursor() as sql:
        sql.execute("SELECT attstorage FROM pg_attribute WHERE attrelid = 'runs_batch'::regclass AND attname = 'data'")
        assert sql.fetchone() == ("e",)
