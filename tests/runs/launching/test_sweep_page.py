"""A sweep by form: planned before it is launched, and managed on its page."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse

from runs.access import give_role
from runs.launching.sweeps import commands
from runs.launching.sweeps.commands import NewSweep
from runs.models import Attempt, Run, Sweep
from tests.cases import each_case
from tests.runs.attempt_records import answer, make_attempt
from tests.runs.full_runs import evaluation, record
from tests.runs.launching.test_launch_check import took
from tests.runs.launching.test_launch_page import sent
from workers.config import preset

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
FIELDS = {
    "sweep-key_1": "es.sigma", "sweep-values_1": "0.1, 0.2", "sweep-key_2": "es.noise",
    "sweep-values_2": "full, low_rank", "sweep-at_once": "2", "seeds": "0-2", "name": "wide",
}  # fmt: skip


def make_sweep(experiment, sigmas=(0.1, 0.2), seeds=(0, 1), at_once=4):
    new = NewSweep(
        base=preset("es-micro").config, grid={"es.sigma": list(sigmas)}, seeds=list(seeds), preset="es-micro",
        at_once=at_once,
    )  # fmt: skip
    return commands.launch_sweep(new, experiment, experiment.owner)


def post(client, sweep, do):
    return client.post(reverse("sweep-change", args=[sweep.pk]), {"do": do}, follow=True).content.decode()


def test_the_form_makes_a_sweep_and_leads_to_its_page(ada_client, experiment):
    answer = ada_client.post(reverse("launch", args=[experiment.pk]), sent(**FIELDS))
    sweep = Sweep.objects.get()
    assert answer["Location"] == sweep.get_absolute_url()
    assert (sweep.name, sweep.at_once, sweep.seeds, sweep.runs.count()) == ("wide", 2, [0, 1, 2], 12)
    assert sweep.grid == {"es.sigma": [0.1, 0.2], "es.noise": ["full", "low_rank"]}


def test_a_list_of_cells_makes_those_alone(ada_client, experiment):
    listed = '{"es.sigma": 0.1, "es.population": 4}\n\n{"es.sigma": 0.2}'
    ada_client.post(reverse("launch", args=[experiment.pk]), sent(**{"sweep-listed": listed, "seeds": "5"}))
    assert list(Run.objects.order_by("pk").values_list("cell", "seed")) == [
        ({"es.sigma": 0.1, "es.population": 4}, 5), ({"es.sigma": 0.2}, 5),
    ]  # fmt: skip


def test_form_describes_the_sweep_before_its_launch(ada_client, experiment):
    page = ada_client.post(reverse("launch-check", args=[experiment.pk]), sent(**FIELDS)).content.decode()
    assert "a sweep of <strong>12 runs</strong>: 4 × 3 (cells × seeds), 2 at a time" in page
    assert "sigma=0.1, noise=full, seed=0" in page and "No time estimate yet" in page
    assert not Run.objects.exists()


def test_the_estimate_of_a_sweep_is_that_of_all_its_runs(ada_client, experiment):
    took(experiment, 3600)
    fields = {**FIELDS, "sweep-key_2": "", "sweep-values_2": ""}
    page = ada_client.post(reverse("launch-check", args=[experiment.pk]), sent(**fields)).content.decode()
    assert "Total: about <strong>6 CPU-hours</strong>, in about 3 h 00 min" in page
    ada_client.post(reverse("launch", args=[experiment.pk]), sent(**fields))
    assert "Estimated at launch: 6 CPU-hours" in ada_client.get(Sweep.objects.get().get_absolute_url()).content.decode()


WRONG = [
    ({"sweep-values_1": "0.1, -1"}, "must be above 0 and at most 1000, not -1"),
    ({"sweep-values_1": ""}, "needs at least one value"),
    ({"sweep-key_2": "es.sigma"}, "es.sigma is selected twice"),
    ({"sweep-key_3": "", "sweep-values_3": "5"}, "select the key of these values"),
    ({"sweep-key_3": "compute.cluster", "sweep-values_3": "moon"}, "must be one of local"),
    ({"sweep-listed": "[1]"}, "line 1 must be a JSON object"),
    ({"sweep-at_once": "0"}, "must be at least 1"),
    ({"sweep-key_1": "nosuch"}, "nosuch is not one of the available choices"),
]


@each_case(("wrong", "message"), WRONG)
def test_invalid_sweep_is_reported_before_the_launch(ada_client, experiment, wrong, message):
    answer = ada_client.post(reverse("launch-check", args=[experiment.pk]), sent(**FIELDS) | wrong)
    assert message in answer.content.decode()


def test_invalid_sweep_is_reported_and_not_launched(ada_client, experiment):
    for wrong, message in (WRONG[0], WRONG[4], WRONG[5]):
        answer = ada_client.post(reverse("launch", args=[experiment.pk]), sent(**FIELDS) | wrong)
        assert message in answer.content.decode()
    assert not Run.objects.exists() and not Sweep.objects.exists()


def test_sweep_page_shows_states_cells_and_the_best(ada_client, experiment):
    sweep = make_sweep(experiment)
    for run in sweep.runs.filter(cell={"es.sigma": 0.2}):
        record(run, [evaluation(5, -20.0 + run.seed)])
    page = " ".join(ada_client.get(sweep.get_absolute_url()).content.decode().split())
    assert "0 of 4 runs finished" in page and "4 waiting" in page
    assert "Best cells so far" in page and "<code>sigma=0.2</code> <strong>−19.5</strong>" in page
    assert "−20 … −19" in page and "n = 2" in page


def test_sweep_links_to_a_tournament_of_runs_with_responses_the_best_first(ada_client, bo, bo_client, experiment):
    sweep = make_sweep(experiment, seeds=[0])
    assert "Judge these" not in ada_client.get(sweep.get_absolute_url()).content.decode()
    worse, better = sweep.runs.order_by("pk")
    extended = Run.objects.create(
        experiment=experiment, name="third", method="es", seed=1, config={}, sweep=sweep, cell=better.cell,
        created_by=experiment.owner,
    )  # fmt: skip
    make_attempt(extended)
    for run, reward in ((worse, -30.0), (better, -20.0)):
        record(run, [evaluation(5, reward), answer(5, "Madrid")])
    record(extended, [evaluation(5, -10.0), answer(5, "Madrid", sample=1)])
    page = ada_client.get(sweep.get_absolute_url()).content.decode()
    (address,) = re.findall(r'href="([^"]*)"[^>]*>Judge these', page)
    assert parse_qs(urlsplit(unescape(address)).query) == {"run": [better.uid, worse.uid]}
    assert ada_client.get(unescape(address)).status_code == 200
    give_role(bo, "viewer")
    assert "Judge these" not in bo_client.get(sweep.get_absolute_url()).content.decode()


def test_pause_states_how_many_runs_run_and_wait(ada_client, experiment):
    sweep = make_sweep(experiment)
    running, queued, *_ = sweep.runs.order_by("pk")
    for run, state in ((running, "running"), (queued, "queued")):
        Attempt.objects.filter(run=run).update(state=state, hold="", reason="")
        Run.objects.filter(pk=run.pk).update(state=state)
    page = ada_client.get(sweep.get_absolute_url()).content.decode()
    assert "Pause (1 running, 3 waiting)" in page and "1 in the queue of its cluster" in page
    page = post(ada_client, sweep, "pause")
    assert "Paused. 1 run is running and continues. 3 runs wait until the sweep is resumed. 1 of these leaves" in page
    assert "1 leaving the queue of its cluster" in page
    queue = ada_client.get(reverse("queue")).content.decode()
    assert "Its sweep is paused: it leaves the queue of local." in queue


def test_runs_of_a_paused_sweep_are_released_and_resumed_into_it(ada_client, experiment):
    sweep = make_sweep(experiment)
    held, ended, *_ = sweep.runs.order_by("pk")
    post(ada_client, sweep, "pause")
    Attempt.objects.filter(run=held).update(hold="person")
    release = {"do": "release"}
    page = ada_client.post(reverse("queue-change", args=[held.uid]), release, follow=True).content.decode()
    assert "waits until its sweep is resumed." in page
    Attempt.objects.filter(run=ended).update(state="failed", hold="")
    Run.objects.filter(pk=ended.pk).update(state="failed")
    page = ada_client.post(reverse("run-resume", args=[ended.uid]), follow=True).content.decode()
    assert "Its sweep is paused: it waits until the sweep is resumed." in page
    assert set(Attempt.objects.open().filter(run__in=[held, ended]).values_list("hold", flat=True)) == {"sweep"}


def test_sweep_is_paused_resumed_and_cancelled(ada_client, experiment):
    sweep = make_sweep(experiment)
    assert "Pause (0 running, 4 waiting)" in ada_client.get(sweep.get_absolute_url()).content.decode()
    page = post(ada_client, sweep, "pause")
    assert "Paused. 0 runs are running and continue. 4 runs wait until the sweep is resumed." in page
    assert "4 waiting until the sweep is resumed" in page and "Resume (0 running, 4 waiting)" in page
    assert "4 waiting" in post(ada_client, sweep, "resume")
    assert "Cancel of 4 runs requested" in post(ada_client, sweep, "cancel")
    assert "4 runs resume" in post(ada_client, sweep, "uncancel")
    assert Attempt.objects.on_hold().count() == 4
    assert ada_client.post(reverse("sweep-change", args=[sweep.pk]), {"do": "nosuch"}).status_code == 404


def test_sweep_is_extended_and_invalid_input_is_returned(ada_client, experiment):
    sweep = make_sweep(experiment)
    address = reverse("sweep-extend", args=[sweep.pk])
    answer = ada_client.post(address, {"more-es.sigma": "0.2, 0.3", "more-seeds": "2"}, follow=True)
    assert "Added 5 runs" in answer.content.decode()
    again = ada_client.post(address, {"more-es.sigma": "0.3", "more-seeds": ""}, follow=True)
    assert "All these runs exist already" in again.content.decode()
    wrong = ada_client.post(address, {"more-es.sigma": "tiny", "more-seeds": "x"})
    page = wrong.content.decode()
    assert wrong.status_code == 400 and "must be whole numbers such as" in page and 'value="tiny"' in page
    wrong = ada_client.post(address, {"more-es.sigma": "tiny", "more-seeds": ""})
    assert "must be a number, not &#x27;tiny&#x27;" in wrong.content.decode()
    assert sweep.runs.count() == 9


def test_a_colleague_looks_and_a_stranger_learns_nothing(bo_client, cy_client, experiment, private_experiment):
    open_one, hidden = make_sweep(experiment), make_sweep(private_experiment)
    page = bo_client.get(open_one.get_absolute_url()).content.decode()
    assert "Cancel sweep" not in page and "Add runs" not in page
    for route in ("sweep-change", "sweep-extend"):
        assert bo_client.post(reverse(route, args=[open_one.pk]), {"do": "cancel"}).status_code == 403
        assert cy_client.post(reverse(route, args=[hidden.pk]), {"do": "cancel"}).status_code == 404
    for route in ("sweep", "sweep-standing"):
        assert cy_client.get(reverse(route, args=[hidden.pk])).status_code == 404


def test_the_page_asks_as_often_for_many_runs_as_for_few(ada_client, experiment, django_assert_max_num_queries):
    sweep = make_sweep(experiment, sigmas=[n / 100 for n in range(1, 61)], seeds=[0])
    with django_assert_max_num_queries(18):
        page = ada_client.get(sweep.get_absolute_url()).content.decode()
    assert "1–50 of 60 cells shown" in page
