"""Judging by scripts: tournaments are created, read and closed, judges started, boards and judgments read."""

from __future__ import annotations

import json
import re

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import StreamingHttpResponse
from django.test import Client

from judging import boards
from judging.boards.win_rates import add_win_rates
from judging.models import Calibration, Invitation, Snapshot, Tournament, Verdict
from judging.stats.votes import Outcome
from runs.models import Experiment
from tests.judging.bulk_verdicts import add_judge_verdicts, cast, first_votes
from tests.judging.sample_tournament import Meeting, meeting
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import answered_run, make_gold_set, rubric
from tests.runs.api_client import calls, paths

pytestmark = pytest.mark.django_db
JSON = "application/json"
ROW = {"model_a": "ada-1", "model_b": "bo-2", "dimension": "help", "prompt_id": 3, "winner": "model_a"}


@pytest.fixture
def sample(ada: User, experiment: Experiment) -> Meeting:
    return meeting(ada, experiment)


@pytest.fixture
def script(ada: User) -> Client:
    return calls(ada)


@pytest.fixture
def other(bo: User) -> Client:
    return calls(bo)


def sent(client: Client, method: str, path: str, **body: object):  # type: ignore[no-untyped-def]
    return getattr(client, method)(f"/api/v1/{path}", json.dumps(body), content_type=JSON)


def text_of(answer: StreamingHttpResponse) -> str:
    async def pieces() -> bytes:
        return b"".join([piece async for piece in answer])

    return async_to_sync(pieces)().decode()


def test_tournament_is_created_listed_and_closed(script: Client, ada: User, experiment: Experiment) -> None:
    runs = [answered_run(experiment, f"runner {n}", [f"one {n}", f"two {n}"]) for n in range(2)]
    entries = [{"run": run.uid, "step": 0} for run in runs]
    new = {"name": "Mine", "contestants": entries, "criteria": ["helpfulness"], "prompts": 2}
    created = sent(script, "post", "tournaments", **new)
    assert created.status_code == 201
    body = created.json()
    assert (body["pairs"], body["prompts"], body["state"], body["imported"]) == (2, 2, "open", False)
    assert [contestant["run"] for contestant in body["contestants"]] == [run.uid for run in runs]
    assert [row["name"] for row in script.get("/api/v1/tournaments?q=mine").json()["items"]] == ["Mine"]
    for state in ("paused", "closed", "open"):
        assert sent(script, "patch", f"tournaments/{body['id']}", state=state).json()["state"] == state
    wrong = sent(script, "post", "tournaments", **new | {"criteria": ["wit"]})
    assert wrong.status_code == 422 and paths(wrong)["criteria"] == "must be of harmlessness, helpfulness, not wit"
    assert sent(script, "post", "tournaments", **new | {"contestants": [entries[0]] * 2}).status_code == 409


def test_tournament_is_deleted_and_restored_with_options(
    script: Client, other: Client, ada: User, experiment: Experiment
) -> None:
    entries = [{"run": answered_run(experiment, f"runner {n}", ["one"]).uid, "step": 0} for n in range(2)]
    options = {
        "picks": "telling",
        "seed": 7,
        "overlap": 2,
        "gold_set": make_gold_set(ada, 2).pk,
        "gold_every": 9,
        "warns": True,
    }
    new = {"name": "Mine", "contestants": entries, "criteria": ["helpfulness"], "prompts": 1, **options}
    body = sent(script, "post", "tournaments", **new).json()
    assert {name: body[name] for name in options} == options
    address = f"tournaments/{body['id']}"
    hidden = other.get(f"/api/v1/{address}").json()
    assert hidden["gold_set"] is None and hidden["seed"] is None, "a voter shall not know of them"
    wrong = sent(script, "post", "tournaments", **new | {"gold_set": 0})
    assert "GET /api/v1/gold-sets lists them" in paths(wrong)["gold_set"]
    wrong = sent(script, "post", "tournaments", **new | {"picks": "mine"})
    assert wrong.status_code == 422 and "'balanced' or 'telling'" in wrong.content.decode()

    assert other.delete(f"/api/v1/{address}").status_code == 403
    assert script.delete(f"/api/v1/{address}").status_code == 204
    assert script.get(f"/api/v1/{address}").status_code == 404
    assert not script.get("/api/v1/tournaments").json()["items"]
    assert [row["name"] for row in script.get("/api/v1/tournaments?shelf=bin").json()["items"]] == ["Mine"]
    assert sent(other, "post", f"{address}/restore").status_code == 403
    assert sent(script, "post", f"{address}/restore").json()["name"] == "Mine"
    assert script.get(f"/api/v1/{address}").status_code == 200


def test_judge_is_calibrated_against_gold(script: Client, other: Client, sample: Meeting, ada: User) -> None:
    line = json.dumps({"prompt": "Why?", "response_a": "So.", "response_b": "", "expected": {"helpfulness": "a"}})

    def posted(text: str):  # type: ignore[no-untyped-def]
        return script.post("/api/v1/gold-sets", {"file": SimpleUploadedFile("g.jsonl", text.encode()), "name": "Ours"})

    created = posted(line)
    assert (created.status_code, created.json()["pairs"]) == (201, 1)
    assert (posted(line).status_code, posted(line).json()["id"]) == (200, created.json()["id"])
    assert "Line 2 is not JSON" in paths(posted(line + "\n{"))["file"]
    assert [row["name"] for row in other.get("/api/v1/gold-sets").json()["items"]] == ["Ours"]

    address, order = f"judges/{sample.judge.pk}", {"gold_set": created.json()["id"], "cap": "1"}
    begun = sent(script, "post", f"{address}/calibrations", **order)
    assert (begun.status_code, begun.json()["planned"], begun.json()["asks_twice"]) == (201, 2, False)
    assert sent(other, "post", f"{address}/calibrations", **order).status_code == 403
    wrong = sent(script, "post", f"{address}/calibrations", **order | {"criteria": ["wit"]})
    assert paths(wrong)["criteria"] == "must be of helpfulness, not wit"
    assert script.get(f"/api/v1/assignments/{begun.json()['id']}").json() == begun.json()
    Calibration.objects.create(
        judge=sample.judge, rubric=rubric("helpfulness"), gold_set_id=created.json()["id"], passes=True,
        measured={"calls": 2},
    )  # fmt: skip
    body = script.get(f"/api/v1/{address}").json()
    assert body["in_boards"] == [str(rubric("helpfulness"))] and body["calibrations"][0]["measured"] == {"calls": 2}
    assert begun.json()["id"] in [row["id"] for row in body["assignments"]]
    assert "key" not in body and script.get("/api/v1/judges/0").status_code == 404


def test_verdicts_are_listed_in_pages_with_numbered_voters(script: Client, other: Client, sample: Meeting) -> None:
    cast(sample.tournament, rubric("helpfulness"), first_votes(make_random_votes(9, contestants=2, prompts=1)))
    address = f"/api/v1/tournaments/{sample.tournament.pk}/verdicts"
    first = script.get(f"{address}?limit=1&criterion=helpfulness").json()
    (row,) = first["items"]
    assert re.fullmatch(r"person [1-9]", row["by"]) and row["is_person"]
    seen, cursor = 1, first["next"]
    while cursor:
        page = script.get(f"{address}?limit=1&criterion=helpfulness&cursor={cursor}").json()
        seen, cursor = seen + len(page["items"]), page["next"]
    assert seen == Verdict.objects.count() > 1
    assert other.get(address).status_code == 403
    Tournament.objects.update(closed_at="2026-01-01T00:00Z")
    assert other.get(address).status_code == 200
    wrong = paths(script.get(f"{address}?criterion=wit"))
    assert wrong["criterion"] == "must be one of 'helpfulness', 'harmlessness', not 'wit'"


def test_board_is_ordered_and_fetched(script: Client, sample: Meeting) -> None:
    helpful = rubric("helpfulness")
    add_judge_verdicts(sample.tournament, helpful, Outcome.A)
    address = f"/api/v1/tournaments/{sample.tournament.pk}/board"
    assert "POST /api/v1/tournaments" in script.get(address).json()["detail"]
    assert sent(script, "post", address.removeprefix("/api/v1/"), ties="davidson").status_code == 202
    assert boards.compute_due_boards() >= 1
    snapshot = Snapshot.objects.get(asked__ties="davidson")
    body = script.get(f"{address}?ties=davidson").json()
    assert (body["hash"], body["votes"], body["newer"]) == (snapshot.digest, 1, 0)
    assert body["board"] == add_win_rates(snapshot.board)
    wrong = script.get(f"{address}?ties=elo")
    assert wrong.status_code == 422 and "ties must be one of" in paths(wrong)[""]


def test_judge_assignment_is_estimated_started_and_cancelled(script: Client, other: Client, sample: Meeting) -> None:
    sample.assignment.delete()
    address = f"tournaments/{sample.tournament.pk}/assignments"
    estimate = sent(script, "post", address, judge=sample.judge.pk, asks_twice=False)
    assert estimate.status_code == 200 and estimate.json()["calls"] == 4 and float(estimate.json()["at_most"]) == 0
    created = sent(
        script, "post", address, judge=sample.judge.pk, criteria=["helpfulness"], cap="2.5", asks_twice=False
    )
    assert created.status_code == 201 and (created.json()["planned"], created.json()["cap"]) == (2, "2.5")
    again = sent(script, "post", address, judge=sample.judge.pk, cap="1")
    assert again.status_code == 409 and "already has an unfinished assignment" in again.json()["detail"]
    work = f"assignments/{created.json()['id']}"
    assert sent(script, "patch", work, do="pause").json()["state"] == "paused"
    assert sent(script, "patch", work, do="go-on", cap="3").json()["cap"] == "3"
    assert sent(script, "patch", work, do="cancel").json()["state"] == "cancelled"
    assert sent(script, "patch", work, do="pause").status_code == 409
    assert sent(other, "patch", work, do="go-on").status_code == 403
    assert other.get(f"/api/v1/{work}/transcript").status_code == 403
    assert text_of(script.get(f"/api/v1/{work}/transcript")) == ""  # type: ignore[arg-type]
    assert (
        "must be the number of a judge that can be asked, not 0"
        in paths(sent(script, "post", address, judge=0))["judge"]
    )


def test_judges_are_listed_with_admitting_rubrics_without_keys(script: Client, ada: User, sample: Meeting) -> None:
    helpful = rubric("helpfulness")
    Calibration.objects.create(
        judge=sample.judge, rubric=helpful, gold_set=make_gold_set(ada, 1), passes=True, measured={}
    )
    listed = script.get("/api/v1/judges").json()["items"]
    assert {row["name"]: row["in_boards"] for row in listed} == {
        "Rules (form alone)": [], sample.judge.name: ["helpfulness v1"],
    }  # fmt: skip
    assert not any("key" in name for row in listed for name in row)
    rubrics = script.get("/api/v1/rubrics").json()["items"]
    assert {"helpfulness", "harmlessness"} == {row["criterion"] for row in rubrics}


def test_invitation_link_is_returned_once_and_revocable(script: Client, other: Client, sample: Meeting) -> None:
    address = f"tournaments/{sample.tournament.pk}/invitations"
    created = sent(script, "post", address, names=["Dee"], days=3)
    (invitation,) = created.json()["items"]
    assert created.status_code == 201 and "/vote/link/" in invitation["link"]
    body = script.get(f"/api/v1/tournaments/{sample.tournament.pk}").json()
    assert [each["name"] for each in body["invitations"]] == ["Which?", "Dee"] and "link" not in body["invitations"][1]
    assert other.get(f"/api/v1/tournaments/{sample.tournament.pk}").json()["invitations"] is None
    assert sent(other, "post", address, names=["Eve"]).status_code == 403
    assert other.delete(f"/api/v1/invitations/{invitation['id']}").status_code == 403
    assert script.delete(f"/api/v1/invitations/{invitation['id']}").status_code == 204
    assert Invitation.objects.get(pk=invitation["id"]).revoked_at is not None
    unknown = script.delete(f"/api/v1/invitations/{invitation['id'] + 1000}")
    assert unknown.status_code == 404 and "There is no invitation" in unknown.json()["detail"]
    assert "Already invited: Dee" in paths(sent(script, "post", address, names=["Dee"]))["names"]


def test_judgments_are_imported_and_exported(script: Client, other: Client) -> None:
    def posted(client: Client, text: str, **fields: object):  # type: ignore[no-untyped-def]
        upload = SimpleUploadedFile("mine.jsonl", text.encode())
        return client.post("/api/v1/judgments", {"files": upload, **fields})

    body = posted(script, json.dumps(ROW) + "\n{", name="Paper").json()
    assert body["said"] == "1 judgment read in Paper: 1 new; 1 invalid row." and body["is_new"]
    assert body["files"][0]["problems"][0].startswith("mine.jsonl, line 2: is not JSON")
    tournament_id = body["tournament"]
    assert posted(script, json.dumps(ROW), into=tournament_id).json()["files"][0]["made"] == 0
    assert posted(other, json.dumps(ROW), into=tournament_id).status_code == 403
    address = f"/api/v1/tournaments/{tournament_id}/judgments"
    assert json.loads(text_of(other.get(address)))["winner"] == "model_a"  # type: ignore[arg-type]
    assert other.get(f"{address}?names=true").status_code == 403
    refused = script.get(f"{address}?form=published")
    assert refused.status_code == 409 and "use FastChat's" in refused.json()["detail"]
    assert script.get(f"/api/v1/tournaments/{tournament_id}").json()["imported"]


def test_file_without_judgments_is_refused_and_names_the_formats(script: Client) -> None:
    answer = script.post("/api/v1/judgments", {"files": SimpleUploadedFile("x.jsonl", b"{}")})
    assert answer.status_code == 422 and not Tournament.objects.exists()
    assert "nothing was imported. Judgments are read as JSON lines" in answer.json()["detail"]
    assert paths(answer)["files"] == "x.jsonl, line 1: has neither scores nor winner nor preference"


def test_private_tournament_is_hidden_from_others(other: Client, ada: User, experiment: Experiment) -> None:
    hidden = meeting(ada, experiment, is_private=True)
    reads = [f"tournaments/{hidden.tournament.pk}{tail}" for tail in ("", "/board", "/verdicts", "/judgments")]
    for path in [*reads, f"assignments/{hidden.assignment.pk}/transcript"]:
        assert other.get(f"/api/v1/{path}").status_code == 404, path
    assert sent(other, "patch", f"assignments/{hidden.assignment.pk}", do="cancel").status_code == 404
    assert other.delete(f"/api/v1/invitations/{hidden.invitation.pk}").status_code == 404
    assert not other.get("/api/v1/tournaments").json()["items"]
