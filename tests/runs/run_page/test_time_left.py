"""How long a run will still take: at the speed of its recent steps, in its newest attempt."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.test import Client

from runs.ingest import ingest
from runs.models import Attempt, Experiment, Run
from runs.run_page.time_left import seconds_left
from tests.cases import each_case
from tests.runs.attempt_records import make_attempt
from tests.runs.full_runs import end, make_run
from workers.records import Line, Metric

pytestmark = pytest.mark.django_db
STEPS = 60


@pytest.fixture
def run(experiment: Experiment, runs_dir: Path) -> Run:
    return make_run(experiment)


def write(attempt: Attempt, times_by_step: dict[int, float], key: str = "train/reward/mean") -> None:
    """Ingest a point at each step, at these times."""
    Attempt.objects.filter(pk=attempt.pk).update(
        state="running", started_at=datetime.fromtimestamp(min(times_by_step.values()) - 1, UTC)
    )
    attempt.refresh_from_db()
    points = times_by_step.items()
    ingest(attempt, 1, [Line(seq, at, Metric(step, {key: 0.0})) for seq, (step, at) in enumerate(points)])


def left(run: Run, steps: int = STEPS) -> float | None:
    return seconds_left(run, run.newest_attempt(), steps)


def test_rest_is_estimated_at_the_speed_of_recent_steps(run: Run) -> None:
    now = time.time()
    # Thirty slow steps, then thirty that take two seconds each.
    slow = {step: now - 60 - 100 * (30 - step) for step in range(30)}
    write(run.newest_attempt(), slow | {step: now - 2 * (59 - step) for step in range(30, 60)})
    assert left(run, 100) == pytest.approx(2 * 41, abs=3)


def test_seconds_since_the_newest_step_are_subtracted(run: Run) -> None:
    now = time.time()
    write(run.newest_attempt(), {10: now - 40, 20: now - 30})
    assert left(run) == pytest.approx(40 - 30, abs=2)


def test_run_with_a_time_of_another_unit_has_no_estimate(run: Run) -> None:
    now = time.time()
    write(run.newest_attempt(), {10: now - 40, 20: now - 30, 30: (now - 20) * 1e3})
    assert left(run) is None


def test_estimate_that_has_passed_is_not_shown(run: Run) -> None:
    write(run.newest_attempt(), {10: time.time() - 3000, 20: time.time() - 2900})
    assert left(run) is None


def test_steps_before_a_resume_do_not_count(run: Run) -> None:
    now = time.time()
    write(run.newest_attempt(), {step: now - 5000 + step for step in range(20)})
    end(run)
    resumed = make_attempt(run, n=2)
    write(resumed, {20: now - 10})
    assert left(run) is None


@each_case("state", ["queued", "stopping", "succeeded", "failed"])
def test_only_a_running_run_has_time_left(run: Run, state: str) -> None:
    write(run.newest_attempt(), {10: time.time() - 10, 20: time.time()})
    run.state = state
    assert left(run) is None


def test_unknown_number_of_steps_or_no_points_give_no_estimate(run: Run) -> None:
    assert left(run) is None
    write(run.newest_attempt(), {10: time.time() - 10, 20: time.time()})
    assert left(run, 0) is None


def test_page_of_a_running_run_states_the_time_left(ada_client: Client, run: Run) -> None:
    write(run.newest_attempt(), {10: time.time() - 100, 20: time.time()})
    text = " ".join(ada_client.get(run.get_absolute_url()).content.decode().split())
    assert "about 6 min 4" in text or "about 6 min 3" in text
    end(run, "succeeded")
    Run.objects.filter(pk=run.pk).update(state="succeeded")
    assert " left</span>" not in ada_client.get(run.get_absolute_url()).content.decode()
