"""The queue's page: what runs and waits, why, and what may be done about it."""

from __future__ import annotations

import pytest
from django.urls import reverse

from runs.models import Attempt, Cluster, Run
from tests.cases import each_case
from tests.runs.full_runs import make_run
from tests.runs.launching.test_sweep_page import make_sweep
from tests.runs.many_runs import crowd

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")


def waiting(experiment, reason="waiting for a core: 2 of 2 in use by 2 jobs; 2 ahead in the queue"):
    run = make_run(experiment, "es-micro", state="queued")
    run.attempts.update(reason=reason)
    return run


def post(client, run, **form):
    return client.post(reverse("queue-change", args=[run.uid]), form, follow=True).content.decode()


def page_of(client, **query):
    return " ".join(client.get(reverse("queue"), query).content.decode().split())


def test_empty_queue_is_reported(ada_client):
    page = page_of(ada_client)
    assert "No run is running." in page and "No run is waiting" in page


def test_queue_lists_running_and_waiting_runs_with_reasons(ada_client, experiment):
    going, late = make_run(experiment, "es-micro"), waiting(experiment)
    make_run(experiment, "es-micro", 3, "succeeded")
    page = page_of(ada_client)
    assert "1 run is running, 1 waiting" in page
    assert page.index(going.get_absolute_url()) < page.index('id="waiting-title"') < page.index(late.get_absolute_url())
    assert (
        "Waiting for a core: 2 of 2 in use by 2 jobs; 2 ahead in the queue. This machine starts waiting runs in order"
        in page
    )
    assert "position 3 in the queue" in page and "on local" in page


@each_case(
    ("compute", "words"),
    [
        ({"gpus": 0, "cores": 1}, "· 1 core ·"),
        ({"gpus": 1, "cores": 8}, "· 1 GPU ·"),
        ({"gpus": 2, "gpu_type": "h100"}, "· 2 GPUs (h100) ·"),
        ({"nodes": 2, "gpus": 4, "gpu_type": "h100"}, "· 2 nodes × 4 GPUs (h100) ·"),
        ({"nodes": 3, "cores": 2}, "· 3 nodes × 2 cores ·"),
    ],
    ids=str,
)
def test_queue_names_the_nodes_of_a_run(ada_client, experiment, compute, words):
    run = waiting(experiment)
    run.config["compute"] = {"cluster": "local", **compute}
    run.save()
    assert words in page_of(ada_client)
    state = ada_client.get(run.get_absolute_url()).content.decode()
    is_shown = compute.get("nodes", 1) > 1 or bool(compute.get("gpus"))
    assert (words.strip("· ") in state) == is_shown


def test_runs_held_by_a_sweep_are_explained(ada_client, experiment):
    sweep = make_sweep(experiment, at_once=1)
    assert "Its sweep runs 1 at a time" in page_of(ada_client)
    ada_client.post(reverse("sweep-change", args=[sweep.pk]), {"do": "pause"})
    assert "Its sweep is paused" in page_of(ada_client)


def test_a_run_is_held_released_moved_and_cancelled_from_there(ada_client, experiment):
    Cluster.objects.create(name="far", kind="slurm")
    run = waiting(experiment)
    Attempt.objects.update(state="created")
    assert "is held" in post(ada_client, run, do="hold")
    page = page_of(ada_client)
    assert "It is being removed from its cluster, to be held." in page
    Attempt.objects.update(state="created", hold="person", moves_to=None, cancel_requested_at=None)
    assert "goes to its cluster" in post(ada_client, run, do="release")
    assert "must be one of far, local" in post(ada_client, run, do="move", cluster="moon").replace("&#x27;", "'")
    assert "moves to far" in post(ada_client, run, do="move", cluster="far")
    assert "It is moving to far." in page_of(ada_client)
    assert "Only waiting runs can be held" in post(ada_client, make_run(experiment, "es-micro"), do="hold")
    assert "requested" in post(ada_client, waiting(experiment), do="cancel")
    assert ada_client.post(reverse("queue-change", args=[run.uid]), {"do": "nosuch"}).status_code == 404


def test_others_look_and_strangers_learn_nothing(bo_client, cy_client, experiment, private_experiment):
    run, hidden = waiting(experiment), waiting(private_experiment)
    page = page_of(bo_client)
    assert run.get_absolute_url() in page and hidden.get_absolute_url() not in page
    assert 'value="cancel"' not in page
    assert bo_client.post(reverse("queue-change", args=[run.uid]), {"do": "cancel"}).status_code == 403
    assert cy_client.post(reverse("queue-change", args=[hidden.uid]), {"do": "cancel"}).status_code == 404


def test_queue_is_filtered_by_owner_and_cluster(ada_client, bo_client, experiment):
    other_cluster = Cluster.objects.create(name="far", kind="slurm")
    run, other = waiting(experiment), waiting(experiment)
    other.attempts.update(cluster=other_cluster)
    assert run.get_absolute_url() not in page_of(bo_client, whose="mine")
    page = page_of(ada_client, cluster="far")
    assert other.get_absolute_url() in page and run.get_absolute_url() not in page


def test_number_of_queries_is_independent_of_the_number_of_runs(ada_client, experiment, django_assert_num_queries):
    crowd(experiment, 4)
    with django_assert_num_queries(10):
        ada_client.get(reverse("queue"))
    crowd(experiment, 200, 4)
    with django_assert_num_queries(10):
        page = page_of(ada_client)
    assert "1–50 of 51 runs shown" in page and Run.objects.count() == 204
