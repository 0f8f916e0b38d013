"""The page of an external run names its program, and offers nothing that only a run on this site's clusters can do."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs import metrics
from runs.launching import CannotMove, CannotRebuild, CannotResume, cancel_run, hold_run, move_run, rebuild_checkpoint
from runs.launching.cancel import cancel_refusal
from runs.launching.commands import resume_run
from runs.models import Experiment, Run, list_evaluated_steps
from runs.run_page.external import commit_url
from tests.cases import each_case
from tests.runs.api_client import calls
from tests.runs.external_runs import GIT, make_external_run, report, reported_records, start
from tests.runs.full_runs import make_run
from workers.config import RunConfig, preset
from workers.records import Alert

pytestmark = pytest.mark.usefixtures("local", "runs_dir")
ELSEWHERE = "trains elsewhere and is only reported here"


def page(client: Client, run: Run, tab: str = "run") -> str:
    response = client.get(reverse(tab, args=[run.uid]))
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


@pytest.fixture
def external(experiment: Experiment) -> Run:
    return make_external_run(experiment, config={"lr": 1e-5, "opt": {"name": "adam"}}, seed=3)


def valid_config() -> dict[str, object]:
    return RunConfig.from_json(preset("es-tiny").config).to_json()


def test_head_names_seed_host_and_user(ada_client: Client, external: Run) -> None:
    text = page(ada_client, external)
    assert "seed 3, reported from node7" in text
    assert '<span class="badge tone-idle">external</span>' in text
    Run.objects.filter(pk=external.pk).update(seed=-1, preset="baselines")
    text = page(ada_client, external)
    assert "seed unknown, reported from node7" in text
    assert "group <strong>baselines</strong>," in text


def test_overview_shows_the_program_its_commit_and_its_summary(ada_client: Client, external: Run) -> None:
    text = page(ada_client, external)
    assert "esweb_client 0.1.0" in text and "train.py --lr 1e-5" in text and "with uncommitted changes" in text
    assert f'href="https://git.example.org/lab/train/commit/{GIT["commit"]}"' in text
    assert "<dt>best</dt><dd>0.5</dd>" in text and "<dt>opt.name</dt><dd>adam</dd>" in text


@each_case(
    ("remote", "address"),
    [
        ("https://ada:token@git.example.org:8443/lab/x.git", "https://git.example.org:8443/lab/x/commit/abcdef0"),
        ("git@git.example.org:lab/x.git", ""),
        ("javascript:alert(1)//https://x", ""),
        ("http://git.example.org/lab/x", ""),
        ("https://[broken/x", ""),
    ],
    ids=["credentials", "ssh", "script", "plain-http", "broken"],
)  # fmt: skip
def test_commit_has_an_address_only_at_an_https_remote(remote: str, address: str) -> None:
    assert commit_url(remote, "abcdef0") == address
    assert commit_url(remote, "abcdef0/../x") == ""


def test_git_and_summary_of_any_form_are_shown(ada_client: Client, experiment: Experiment) -> None:
    run = make_external_run(experiment, git=["x"], summary={"<b>": {"a": [None]}, "long": "x" * 2000})
    text = page(ada_client, run)
    assert "&lt;b&gt;" in text and "x" * 301 not in text


def test_empty_page_says_how_to_push(ada_client: Client, experiment: Experiment) -> None:
    run = make_external_run(experiment, records=[])
    attempt = run.newest_attempt()
    assert attempt is not None
    for tab in ("run", "run-curves"):
        text = page(ada_client, run, tab)
        assert f"/api/v1/attempts/{attempt.key}/records" in text
        assert "docs/guides/push-records.md" in text
    report(run, reported_records())
    assert "docs/guides/push-records.md" not in page(ada_client, run)


def test_lost_run_says_how_it_continues(ada_client: Client, experiment: Experiment) -> None:
    text = page(ada_client, make_external_run(experiment, state="lost"))
    assert "No heartbeat for 5 min 00 s. The run continues here when its program reports again." in text
    assert 'action="/runs/' not in text.split('id="state"')[1].split('id="run-tabs"')[0]


def test_progress_is_shown_only_if_the_program_reports_it(ada_client: Client, experiment: Experiment) -> None:
    assert '<progress value="0.25"' in page(ada_client, make_external_run(experiment))
    assert "<progress" not in page(ada_client, make_external_run(experiment, records=[]))
    assert "<progress" not in page(ada_client, make_external_run(experiment, state="succeeded"))


def test_page_offers_nothing_that_needs_a_cluster(ada_client: Client, external: Run) -> None:
    text = page(ada_client, external)
    absent = ("Cancel run", f"?evaluate={external.uid}", f"?probe={external.uid}", f"?clone={external.uid}", "1 core")
    assert [words for words in absent if words in text] == []
    native = page(ada_client, make_run(external.experiment))
    assert "Cancel run" in native and "?clone=" in native


def test_log_tab_says_why_it_is_empty(ada_client: Client, external: Run) -> None:
    text = page(ada_client, external, "run-log")
    assert "The program writes its log where it runs" in text
    assert "The program reports here over HTTP." in text
    attempt = external.newest_attempt()
    assert attempt is not None
    attempt.directory.mkdir(parents=True)
    (attempt.directory / "log.txt").write_text("a copied line\n")
    assert "a copied line" in page(ada_client, external, "run-log")


def test_checkpoints_are_where_the_run_trains(ada_client: Client, external: Run) -> None:
    text = page(ada_client, external, "run-checkpoints")
    assert "its checkpoints are on the machine where it runs" in text
    assert "<code>checkpoints/step-000005</code>" in text and "where the run trains" in text


def test_config_tab_shows_any_config_without_commands(ada_client: Client, external: Run) -> None:
    text = page(ada_client, external, "run-config")
    assert "This site cannot launch a run from it." in text and "1e-05" in text
    assert "config-curl" not in text and "Launch again with" not in text


def test_valid_config_can_be_cloned(ada_client: Client, experiment: Experiment) -> None:
    run = make_external_run(experiment, config=valid_config(), method="es")
    assert f"?clone={run.uid}" in page(ada_client, run)
    response = ada_client.get(reverse("launch", args=[experiment.pk]), {"clone": run.uid})
    assert response.context["form"]["seeds"].value() == "0"
    assert response.context["form"]["es.population"].value() == run.config["es"]["population"]
    assert "cannot be cloned" not in response.content.decode()


def test_clone_of_another_config_is_refused_with_a_sentence(ada_client: Client, external: Run) -> None:
    text = page_of_launch(ada_client, external)
    assert "This run cannot be cloned." in text
    assert "its config is not one that this site can train. None of its values is used." in text
    response = calls(external.created_by).post(
        f"/api/v1/runs/{external.uid}/clone", {"config": {}}, content_type="application/json"
    )
    assert response.status_code == 422


def page_of_launch(client: Client, run: Run) -> str:
    response = client.get(reverse("launch", args=[run.experiment_id]), {"clone": run.uid})
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


@each_case("state", ["running", "lost", "interrupted"])
def test_resume_rebuild_hold_and_move_are_refused(experiment: Experiment, ada: User, state: str) -> None:
    run = make_external_run(experiment, config=valid_config(), method="es", state=state)
    with pytest.raises(CannotResume, match=ELSEWHERE):
        resume_run(run, ada)
    with pytest.raises(CannotRebuild, match=ELSEWHERE):
        rebuild_checkpoint(run, 5, ada)
    with pytest.raises(CannotMove, match=ELSEWHERE):
        hold_run(run, ada)
    with pytest.raises(CannotMove, match=ELSEWHERE):
        move_run(run, "local", ada)


def test_cancel_leaves_the_program_alone(external: Run, ada: User) -> None:
    assert ELSEWHERE in cancel_refusal(external)
    assert cancel_refusal(make_run(external.experiment)) == ""
    cancel_run(external, ada)
    attempt = external.newest_attempt()
    assert attempt is not None
    assert (attempt.state, attempt.cancel_requested_at) == ("running", None)


def test_bulk_cancel_names_runs_that_train_elsewhere(ada_client: Client, external: Run) -> None:
    native = make_run(external.experiment)
    response = ada_client.post(
        reverse("experiment-bulk", args=[external.experiment_id]),
        {"do": "cancel", "run": [external.uid, native.uid]}, follow=True,
    )  # fmt: skip
    text = response.content.decode()
    assert "1 selected run trains elsewhere and is only reported here" in text
    assert "Cancelling 1 run." in text


@pytest.mark.parametrize("section", ["evaluate", "probe"])
def test_evaluation_and_probe_of_an_external_run_are_refused(experiment: Experiment, ada: User, section: str) -> None:
    run = make_external_run(experiment, config=valid_config(), method="es", state="succeeded")
    name = f"run:{run.uid}"
    values = {"evaluate": {"run": name}, "probe": {"runs": [name]}}[section]
    config = {"method": section, section: values, "compute": {"cluster": "local"}}
    body = {"experiment": experiment.pk, "config": config}
    response = calls(ada).post("/api/v1/runs", body, content_type="application/json")
    assert response.status_code == 422
    assert "that run was trained elsewhere and only reported here" in response.content.decode()


def test_model_of_an_external_run_cannot_be_trained_further(experiment: Experiment, ada: User) -> None:
    run = make_external_run(experiment, config=valid_config(), method="es", state="succeeded")
    config = {**preset("es-tiny").config, "model": {"path": f"run:{run.uid}@5"}}
    body = {"experiment": experiment.pk, "config": config}
    response = calls(ada).post("/api/v1/runs", body, content_type="application/json")
    assert response.status_code == 422
    assert "that run was trained elsewhere and only reported here" in response.content.decode()


def test_provenance_names_the_program(external: Run) -> None:
    origin = metrics.origins_of([external])[external.pk]
    measured = [metrics.provenance(external.config, key, origin) for key in ("reward/mean", "kl", "loss")]
    assert [way and way.words for way in measured] == [
        "decoding unknown, reported by a program elsewhere",
        "unknown estimator, decoding unknown, reported by a program elsewhere",
        None,
    ]


def test_evaluations_of_an_external_run_are_never_partial(experiment: Experiment) -> None:
    run = make_external_run(experiment, config={"evaluation": {"prompts": 500, "samples": 9}})
    assert [step.is_partial for step in list_evaluated_steps([run])[run.pk]] == [False, False]


def test_table_filters_by_any_method_and_names_unknown_ones(ada_client: Client, external: Run) -> None:
    make_run(external.experiment)
    address = external.experiment.get_absolute_url()
    response = ada_client.get(address, {"q": "method:ppo"})
    assert [row.run for row in response.context["table"].rows] == [external]
    assert "method must be one of es, grpo, evaluate, probe, audit, scorer, ppo, not" in (
        ada_client.get(address, {"q": "method:nosuch"}).content.decode()
    )


def test_queue_and_costs_leave_external_runs_out(ada_client: Client, external: Run) -> None:
    assert external.name not in ada_client.get("/queue/").content.decode()
    assert ada_client.get("/costs/?since=all").context["hours"].rows == ()


def test_page_needs_few_queries_also_after_many_starts(ada_client: Client, external: Run) -> None:
    def count(tab: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            page(ada_client, external, tab)
        return len(captured)

    before = {tab: count(tab) for tab in ("run", "run-log", "run-checkpoints", "run-config")}
    for _ in range(3):
        external.attempts.open().update(state="interrupted")
        start(external)
    assert {tab: count(tab) for tab in before} == before
    native = make_run(external.experiment)
    with CaptureQueriesContext(connection) as captured:
        page(ada_client, native, "run-config")
    assert before["run-config"] <= len(captured)


def test_home_does_not_offer_to_launch_a_config_of_another_program_again(
    ada_client: Client, experiment: Experiment
) -> None:
    make_external_run(experiment, config={"lr": 1e-5}, state="lost", name="lost elsewhere")
    text = ada_client.get("/").content.decode()
    assert "lost elsewhere" in text
    assert "Launch again" not in text


def test_overview_lists_the_newest_warnings_and_errors(ada_client: Client, experiment: Experiment) -> None:
    alerts = [Alert("warning", f"alert {number}") for number in range(12)]
    records = [*alerts, Alert("error", "5 records <b> are missing"), Alert("info", "no alert of the overview")]
    run = make_external_run(experiment, records=records, state="lost")
    text = page(ada_client, run)
    overview = text.split('id="alerts-title"')[1].split("</section>")[0]
    assert "5 records &lt;b&gt; are missing" in overview and "alert 11" in overview
    assert "alert 2<" not in overview and "no alert of the overview" not in overview
    assert "no alert of the overview" in page(ada_client, run, "run-log")
    assert 'id="alerts-title"' not in page(ada_client, make_external_run(experiment, records=[]))
