"""Home page: running, queued and failed runs with reasons, notices and recent changes, filtered by owner."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from runs.access import issue
from runs.flags import dismiss
from runs.models import Attempt, AttemptEvent, Cluster, Experiment, Run
from tests.cases import each_case
from tests.runs.attempt_records import make_attempt
from tests.runs.flags.flag_cases import make_flagged_run
from tests.runs.full_runs import a_bit_of_everything, make_run, record

pytestmark = pytest.mark.django_db


def home(client, **query):
    answer = client.get("/", query)
    assert answer.status_code == 200
    return answer.content.decode()


def section_html(client, section, **query):
    """Return a section of the page, as HTML."""
    page = home(client, **query)
    start = page.index(f'<section class="panel" id="{section}"')
    return page[start : page.index("</section>", start)]


def end_run(run, state="failed", reason="", **ago):
    Attempt.objects.filter(run=run).update(state=state, reason=reason, ended_at=timezone.now() - timedelta(**ago))
    Run.objects.filter(pk=run.pk).update(state=state)
    return run


def test_signing_in_leads_home(client, ada):
    ada.set_password("a long password")
    ada.save()
    answer = client.post(reverse("login"), {"username": "ada", "password": "a long password"})
    assert answer["Location"] == reverse("home") == "/"


def test_running_runs_show_progress_and_last_values(ada_client, experiment):
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    page = section_html(ada_client, "going")
    assert run.get_absolute_url() in page
    assert "5 of 60" in page
    assert "−40.9" in page
    assert "0.0500" in page
    assert "1 of 1 shown" in page


def test_running_runs_are_watched_for_live_updates(ada_client, experiment):
    run = make_run(experiment)
    assert f"data-watch='{{&quot;{run.uid}&quot;: 0}}'" in home(ada_client)
    part = ada_client.get(reverse("home-standing")).content.decode()
    assert run.name in part
    assert "<html" not in part


def test_queued_runs_are_listed_in_order_with_reasons(ada_client, experiment):
    first, second = make_run(experiment, seed=1, state="queued"), make_run(experiment, seed=2, state="queued")
    second.attempts.update(reason="2 of 2 cores are taken")
    page = section_html(ada_client, "waiting")
    assert page.index(first.name) < page.index(second.name)
    assert "2 of 2 cores are taken" in page


def test_run_with_a_planned_restart_is_waiting_and_not_failed(ada_client, experiment):
    run = end_run(make_run(experiment), reason="no memory", minutes=1)
    run.attempts.update(restart_at=timezone.now() + timedelta(minutes=1))
    assert "Restarts automatically: no memory" in section_html(ada_client, "waiting")
    assert "No run failed" in section_html(ada_client, "wrong")


def test_failed_runs_show_reason_and_actions(ada_client, experiment):
    run = end_run(make_run(experiment), reason="ValueError: <sigma> is not a number", hours=2)
    page = section_html(ada_client, "wrong")
    assert "ValueError: &lt;sigma&gt; is not a number" in page
    assert reverse("run-resume", args=[run.uid]) in page
    assert f"{reverse('launch', args=[experiment.pk])}?clone={run.uid}" in page
    assert f"{run.get_absolute_url()}log/#log" in page


def test_user_without_rights_is_offered_only_the_log(bo_client, experiment):
    run = end_run(make_run(experiment), minutes=1)
    page = section_html(bo_client, "wrong")
    assert f"{run.get_absolute_url()}log/#log" in page
    assert reverse("run-resume", args=[run.uid]) not in page
    assert "?clone=" not in page


def test_a_run_that_was_resumed_is_no_longer_wrong(ada_client, experiment):
    run = end_run(make_run(experiment), minutes=1)
    make_attempt(run, 2)
    assert "No run failed" in section_html(ada_client, "wrong")
    assert run.name in section_html(ada_client, "going")


def test_older_failures_appear_in_a_wider_window(ada_client, experiment):
    run = end_run(make_run(experiment), "oom", hours=50)
    assert run.name not in section_html(ada_client, "wrong")
    assert run.name in section_html(ada_client, "wrong", since="3d")


def test_unknown_window_is_answered_with_the_valid_ones(ada_client, experiment):
    answer = ada_client.get("/", {"since": "1y"})
    assert answer.status_code == 404 and "since must be one of 1d, 3d, 7d" in answer.content.decode()


def test_warnings_of_a_run_are_one_line_with_its_last_word(ada_client, experiment):
    run = make_run(experiment)
    for n in range(3):
        AttemptEvent.objects.create(attempt=run.newest_attempt(), level="warning", why=f"dead iteration {n}")
    AttemptEvent.objects.create(attempt=run.newest_attempt(), level="error", why="ended", to_state="failed")
    page = section_html(ada_client, "attention")
    assert "dead iteration 2" in page
    assert "dead iteration 1" not in page
    assert "× 3" in page
    assert "1 of 1 run with warnings shown" in page
    assert "ended" not in page


def test_unreachable_cluster_is_reported(ada_client, experiment, local):
    Cluster.objects.update(unreachable_since_at=timezone.now() - timedelta(minutes=5))
    assert "local" in section_html(ada_client, "attention")


def test_changes_are_listed_by_experiment_with_user_and_count(ada_client, bo, experiment):
    for seed in range(3):
        end_run(make_run(experiment, seed=seed), "succeeded", minutes=5)
    other = Experiment.objects.create(name="Bo's", owner=bo)
    page = section_html(ada_client, "changed")
    assert "You launched 3 runs" in page
    assert "3 succeeded" in page
    assert "bo created the experiment" in page
    assert page.index(other.name.replace("'", "&#x27;")) < page.index("You created the experiment")


def test_edits_are_listed_with_fields_and_user(ada_client, bo_client, experiment):
    fields = {"name": experiment.name, "question": "Sooner?", "tags": "", "note": "So *it* does."}
    ada_client.post(reverse("experiment-edit", args=[experiment.pk]), fields)
    run = make_run(experiment)
    _, token = issue(experiment.owner, "launch")
    sent = {"note": "the best", "tags": ["paper"], "name": run.name}
    answer = ada_client.patch(
        f"/api/v1/runs/{run.uid}", sent, content_type="application/json", headers={"Authorization": f"Bearer {token}"}
    )
    assert answer.status_code == 200
    page = section_html(bo_client, "changed")
    assert "ada changed note and question" in page
    assert f"ada changed note and tags of {run.name}" in page


def test_edit_without_change_is_not_listed(ada_client, experiment):
    same = {"name": experiment.name, "question": experiment.question, "tags": "", "note": ""}
    ada_client.post(reverse("experiment-edit", args=[experiment.pk]), same)
    assert "changed" not in section_html(ada_client, "changed").partition("</h2>")[2]


def test_edits_of_a_private_experiment_are_hidden_from_others(ada_client, bo_client, experiment, private_experiment):
    ada_client.post(reverse("experiment-edit", args=[private_experiment.pk]), {"name": "Other", "is_private": "on"})
    assert "changed name" in section_html(ada_client, "changed")
    assert "changed name" not in section_html(bo_client, "changed")


def test_empty_period_links_to_a_longer_one(ada_client, experiment):
    Experiment.objects.update(created_at=timezone.now() - timedelta(days=5))
    assert "Show the last 7 days" in section_html(ada_client, "changed")
    assert "created the experiment" in section_html(ada_client, "changed", since="7d")


def test_mine_leaves_out_what_others_run(ada_client, bo, experiment):
    foreign_run = make_run(Experiment.objects.create(name="Other", owner=bo), seed=77)
    assert foreign_run.name in home(ada_client)
    page = home(ada_client, whose="mine")
    assert foreign_run.name not in page
    assert "Other" not in page


@each_case("state", ["running", "queued", "failed"])
def test_nobody_learns_of_what_is_private(bo_client, experiment, private_experiment, state):
    run = make_run(private_experiment, seed=4711, state=state)
    end_run(run, state, "a secret reason", minutes=1)
    AttemptEvent.objects.create(attempt=run.newest_attempt(), level="warning", why="a secret warning")
    page = home(bo_client)
    assert "4711" not in page
    assert "ecret" not in page


def test_archived_and_deleted_runs_are_not_listed(ada_client, experiment):
    for seed, field in enumerate(("archived_at", "deleted_at")):
        Run.objects.filter(pk=make_run(experiment, seed=4710 + seed).pk).update(**{field: timezone.now()})
    assert "seed 471" not in home(ada_client)


def test_newest_own_experiment_is_offered_when_nothing_runs(ada_client, bo_client, experiment):
    address = reverse("launch", args=[experiment.pk])
    assert address in section_html(ada_client, "going")
    assert address not in section_html(bo_client, "going")
    make_run(experiment)
    assert address not in section_html(ada_client, "going")


def test_new_user_sees_the_first_steps(ada_client):
    page = home(ada_client)
    assert "Welcome, ada" in page
    assert 'action="/experiments/"' in page
    assert "manage.py demo" in page


def test_a_new_viewer_is_not_offered_what_they_may_not_do(bo_client, bo):
    bo.groups.add(Group.objects.get_or_create(name="viewers")[0])
    page = home(bo_client)
    assert "You are a viewer" in page
    assert "New experiment" not in page


def test_number_of_queries_is_independent_of_the_number_of_rows(bo_client, ada, experiment):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            home(bo_client)
        return len(captured)

    def one_of_each(seed):
        experiment = Experiment.objects.create(name=f"E{seed}", owner=ada)
        record(make_run(experiment, seed=seed), a_bit_of_everything())
        make_run(experiment, seed=seed, state="queued")
        end_run(make_run(experiment, seed=seed), minutes=seed)

    one_of_each(0)
    before = queries()
    for seed in range(1, 5):
        one_of_each(seed)
    assert queries() == before <= 40


def test_flagged_runs_stand_among_the_warnings_until_they_are_dismissed(ada, ada_client, experiment):
    run = make_flagged_run(experiment)
    page = section_html(ada_client, "attention")
    assert "Reward up, right answers down" in page and "Empty responses" in page
    assert "Right responses fell from 100 % to 0 % (n = 10) while the reward rose." in page
    assert f'href="{run.get_absolute_url()}#flags"' in page
    for flag in run.flags.all():
        dismiss(flag, ada, "It is meant to write nothing.")
    assert "No run reported a warning or was flagged" in section_html(ada_client, "attention")
