"""Results on the home page: the last runs with curves and final values, and the best run of each experiment."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from runs.experiments.home import results as home_results
from runs.experiments.home.best_runs import MAX_CANDIDATES, find_candidates
from runs.experiments.home.sections import home_runs
from runs.experiments.home.sparkline import HEIGHT, WIDTH, sparklines
from runs.models import Attempt, Experiment, Flag, Run
from tests.runs.attempt_records import make_attempt
from tests.runs.experiments.test_home import home, section_html
from tests.runs.full_runs import end, evaluation, make_run, record
from workers.analysis.detectors import DETECTORS
from workers.records import Metric

pytestmark = pytest.mark.django_db
NAN = float("nan")


def ended_run(experiment, *rewards, seed=0, state="succeeded", minutes=5):
    """Create a run that ended so many minutes ago, with these rewards by step."""
    run = make_run(experiment, seed=seed)
    record(run, [evaluation(step, reward) for step, reward in enumerate(rewards)])
    Attempt.objects.filter(run=run).update(state=state, ended_at=timezone.now() - timedelta(minutes=minutes))
    Run.objects.filter(pk=run.pk).update(state=state)
    return run


def flag_runs(*runs):
    for run in runs:
        Flag.objects.create(
            run=run, detector=DETECTORS[0].name, step=0, first_step=0, value=1.0, limit=0.5, data_hash="ab",
            detected_at=timezone.now(),
        )  # fmt: skip


def best(client):
    """Return the best runs that the page shows, as (run, number of runs, whether it is the best without a flag)."""
    return [(b.row.run, b.n, b.is_alternative) for b in client.get("/").context["results"].best]


def test_last_results_are_listed_by_time_of_end_with_final_values(ada_client, experiment):
    ended_run(experiment, -40.0, -2.5, seed=1, minutes=9)
    ended_run(experiment, -50.0, -3.25, seed=2, state="failed", minutes=20)
    ended_run(experiment, -60.0, -1.5, seed=3, minutes=1)
    page = section_html(ada_client, "results")
    assert page.index("seed 3") < page.index("seed 1") < page.index("seed 2")
    assert "−1.50" in page and "−3.25" in page and "0.0100" in page
    assert "failed" in page and experiment.name in page
    assert "the last 3 runs" in page


def test_value_that_was_never_measured_is_a_dash(ada_client, experiment):
    run = ended_run(experiment)
    record(run, [Metric(0, {"kl": 0.25}, {})])
    (result,) = ada_client.get("/").context["results"].last
    assert [cell.value for cell in result.row.cells[:2]] == [None, 0.25]
    page = section_html(ada_client, "results")
    assert page.count("–") >= 2
    assert "<svg" not in page
    assert best(ada_client) == []


def test_panels_are_left_out_without_results(ada_client, experiment):
    make_run(experiment, seed=1)
    ended_run(experiment, seed=2)
    page = home(ada_client)
    assert 'id="results"' not in page and 'id="best"' not in page


def test_running_and_resumed_runs_are_no_results(ada_client, experiment):
    record(make_run(experiment, seed=1), [evaluation(0, -1.0)])
    resumed_run = ended_run(experiment, -2.0, seed=2)
    make_attempt(resumed_run, 2)
    Run.objects.filter(pk=resumed_run.pk).update(state="running")
    assert ada_client.get("/").context["results"].last == []


def test_run_with_two_attempts_is_listed_once(ada_client, experiment):
    run = ended_run(experiment, -2.0, state="interrupted", minutes=60)
    make_attempt(run, 2, state="succeeded")
    run.attempts.filter(n=2).update(ended_at=timezone.now())
    Run.objects.filter(pk=run.pk).update(state="succeeded")
    (result,) = ada_client.get("/").context["results"].last
    assert result.ended_at > timezone.now() - timedelta(minutes=1)


def test_imported_run_without_a_time_of_end_comes_last(ada_client, experiment):
    unknown, known = ended_run(experiment, -1.0, seed=1), ended_run(experiment, -2.0, seed=2, minutes=9999)
    Attempt.objects.filter(run=unknown).update(ended_at=None)
    assert [(r.row.run, r.ended_at is None) for r in ada_client.get("/").context["results"].last] == [
        (known, False), (unknown, True),
    ]  # fmt: skip


def test_failed_runs_come_first_only_while_a_run_is_running(ada_client, experiment):
    ended_run(experiment, -1.0, seed=1)
    page = home(ada_client)
    assert page.index('id="going"') < page.index('id="results"') < page.index('id="best"') < page.index('id="wrong"')
    make_run(experiment, seed=2)
    page = home(ada_client)
    assert page.index('id="going"') < page.index('id="wrong"') < page.index('id="results"')


def test_curve_is_described_and_plotted_inside_its_drawing(experiment):
    run = ended_run(experiment, -50.0, -20.0, -30.0, -10.0)
    curve = sparklines([run], "reward/mean")[run.pk]
    assert curve.words.startswith("Held-out reward by step: ") and "−50" in curve.words and "−10" in curve.words
    points = [tuple(map(float, point.split(","))) for point in curve.lines[0].split()]
    assert points[0] == (3, HEIGHT - 3) and points[-1] == (WIDTH - 3, 3)
    assert curve.end == ("93.0", "3.0")


def test_gap_breaks_the_curve_and_one_point_is_in_the_middle(experiment):
    broken = ended_run(experiment, -5.0, -4.0, NAN, -3.0, float("inf"), seed=1)
    single, none = ended_run(experiment, -5.0, seed=2), ended_run(experiment, NAN, seed=3)
    curves = sparklines([broken, single, none], "reward/mean")
    assert [len(line.split()) for line in curves[broken.pk].lines] == [2, 1]
    assert curves[single.pk].end == (f"{WIDTH / 2:.1f}", f"{HEIGHT / 2:.1f}")
    assert none.pk not in curves


def test_steps_that_a_resume_wrote_again_are_plotted_once(experiment):
    run = ended_run(experiment, -5.0, -4.0, -3.0)
    end(run)
    make_attempt(run, 2)
    record(run, [evaluation(step, -1.0) for step in (1, 2, 3)])
    assert len(sparklines([run], "reward/mean")[run.pk].lines[0].split()) == 4


def test_best_run_has_the_highest_final_reward_of_the_runs_that_ended(ada_client, experiment):
    rewards = [(-9.0, -3.0), (-1.0, -4.0), (-5.0, NAN), (-5.0, float("inf"))]
    runs = [ended_run(experiment, *values, seed=seed) for seed, values in enumerate(rewards)]
    record(make_run(experiment, seed=9), [evaluation(0, 0.0)])
    assert best(ada_client) == [(runs[0], 2, False)]
    page = section_html(ada_client, "best")
    assert "best of 2 runs" in page and "seed 0" in page and "−3" in page
    assert f"{experiment.get_absolute_url()}?sort=-reward/mean" in page


def test_best_run_of_each_experiment_newest_first(ada_client, ada, experiment):
    first = ended_run(experiment, -1.0, seed=1)
    second = ended_run(Experiment.objects.create(name="Second", owner=ada), -9.0, seed=2)
    Experiment.objects.create(name="Empty", owner=ada)
    assert best(ada_client) == [(second, 1, False), (first, 1, False)]
    assert "the only run" in section_html(ada_client, "best")


def test_flagged_best_run_is_followed_by_the_best_without_a_flag(ada_client, experiment):
    runs = [ended_run(experiment, reward, seed=seed) for seed, reward in enumerate((-1.0, -2.0, -3.0))]
    flag_runs(runs[0], runs[1])
    assert best(ada_client) == [(runs[0], 3, False), (runs[2], 3, True)]
    page = section_html(ada_client, "best")
    assert "best without a flag" in page
    assert page.count("flag-badge") == 1
    assert section_html(ada_client, "results").count("flag-badge") == 2
    flag_runs(runs[2])
    assert best(ada_client) == [(runs[0], 3, False)]
    assert "The best 3 runs all have flags" in section_html(ada_client, "best")


def test_runs_measured_differently_are_marked(ada_client, experiment):
    ended_run(experiment, -1.0, seed=1)
    assert "measured differently" not in home(ada_client)
    pushed = ended_run(experiment, -2.0, seed=2)
    Attempt.objects.filter(run=pushed).update(cluster=None, origin="import", drained_at=timezone.now())
    assert "measured differently" in section_html(ada_client, "results")
    assert "measured differently" in section_html(ada_client, "best")


def test_results_of_private_archived_and_deleted_runs_are_hidden(bo_client, experiment, private_experiment):
    ended_run(private_experiment, -1.0, seed=4711)
    for seed, field in enumerate(("archived_at", "deleted_at")):
        run = ended_run(experiment, -1.0, seed=4712 + seed)
        Run.objects.filter(pk=run.pk).update(**{field: timezone.now()})
    assert "471" not in home(bo_client)
    assert bo_client.get("/").context["results"].best == []


def test_mine_selects_results_too(bo_client, experiment):
    ended_run(experiment, -1.0)
    assert best(bo_client)
    assert bo_client.get("/", {"whose": "mine"}).context["results"].last == []


def test_candidates_are_limited_and_counted_in_full(ada, experiment):
    runs = [ended_run(experiment, float(seed), seed=seed) for seed in range(MAX_CANDIDATES + 2)]
    (entry,) = find_candidates(home_runs(ada, own_only=False))
    assert entry.n == len(runs) and len(entry.runs) == MAX_CANDIDATES and entry.runs[0] == runs[-1].pk


def test_number_of_queries_is_independent_of_the_number_of_results(ada, experiment):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            home_results.results(home_runs(ada, own_only=False))
        return len(captured)

    ended_run(experiment, -1.0)
    before = queries()
    for seed in range(1, 12):
        ended_run(Experiment.objects.create(name=f"E{seed}", owner=ada), -2.0, seed=seed)
    assert queries() == before <= 12


def test_task_metrics_are_those_of_the_task_of_each_run(ada_client, experiment):
    values = {"reward/mean": 1.0, "safety/safe_ratio": 0.75, "cost/mean": -1.5}
    for name, seed in (("es-tiny", 1), ("es-safety-tiny", 2)):
        run = make_run(experiment, name, seed)
        record(run, [Metric(0, values | {"accuracy/contains": 0.5}, {})])
        Attempt.objects.filter(run=run).update(state="succeeded", ended_at=timezone.now())
        Run.objects.filter(pk=run.pk).update(state="succeeded")
    results = {result.row.run.seed: result for result in ada_client.get("/").context["results"].last}
    assert [cell.column.key for cell in results[1].row.task_cells] == ["accuracy/contains"]
    assert [cell.column.key for cell in results[2].row.task_cells] == ["safety/safe_ratio", "cost/mean"]
    page = section_html(ada_client, "results")
    assert "Safe ratio" in page and "75\N{NARROW NO-BREAK SPACE}%" in page and "−1.50" in page


def test_running_runs_show_the_metrics_of_their_tasks(ada_client, experiment):
    for name, seed in (("es-tiny", 1), ("es-safety-tiny", 2), ("es-tiny", 3)):
        run = make_run(experiment, name, seed)
        if seed < 3:
            values = {"safety/safe_ratio": 0.75, "cost/mean": -1.5, "accuracy/contains": 0.5}
            record(run, [Metric(0, values, {})])
    rows = {row.run.seed: row for row in ada_client.get("/").context["running"].rows}
    assert [cell.column.key for cell in rows[1].task_cells] == ["accuracy/contains"]
    assert [cell.column.key for cell in rows[2].task_cells] == ["safety/safe_ratio", "cost/mean"]
    assert rows[3].task_cells == []
    page = " ".join(section_html(ada_client, "going").split())
    assert "Task metrics</th></tr>" in page and 'data-label="Task metrics">–</td>' in page
    assert page.count(">75 %<") == page.count(">50 %<") == 1
