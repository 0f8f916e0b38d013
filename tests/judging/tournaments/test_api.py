"""Judging by scripts: tournaments are made, read and closed, judges put to work, boards and judgments read."""

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
from judging.models import Calibration, Invitation, Snapshot, Tournament, Verdict
from judging.stats.votes import Outcome
from runs.models import Experiment
from tests.judging.bulk_verdicts import cast, once, ruled
from tests.judging.sample_tournament import Meeting, meeting
from tests.judging.synthetic_votes import invented
from tests.judging.tournament_factory import answered_run, gold, rubric
from tests.runs.api_client import calls, paths

pytestmark = pytest.mark.django_db
JSON = "application/json"
ROW = {"model_a": "ada-1", "model_b": "bo-2", "dimension": "help", "prompt_id": 3, "winner": "model_a"}


@pytest.fixture
def there(ada: User, experiment: Experiment) -> Meeting:
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


def test_a_tournament_is_made_listed_paused_and_closed(script: Client, ada: User, experiment: Experiment) -> None:
    runs = [answered_run(experiment, f"runner {n}", [f"one {n}", f"two {n}"]) for n in range(2)]
    entries = [{"run": run.uid, "step": 0} for run in runs]
    new = {"name": "Mine", "contestants": entries, "criteria": ["helpfulness"], "prompts": 2}
    made = sent(script, "post", "tournaments", **new)
    assert made.status_code == 201
    told = made.json()
    assert (told["pairs"], told["prompts"], told["state"], told["imported"]) == (2, 2, "open", False)
    assert [one["run"] for one in told["contestants"]] == [run.uid for run in runs]
    assert [one["name"] for one in script.get("/api/v1/tournaments?q=mine").json()["items"]] == ["Mine"]
    for state in ("paused", "closed", "open"):
        assert sent(script, "patch", f"tournaments/{told['id']}", state=state).json()["state"] == state
    wrong = sent(script, "post", "tournaments", **new | {"criteria": ["wit"]})
    assert wrong.status_code == 422 and paths(wrong)["criteria"] == "must be of harmlessness, helpfulness, not wit"
    assert sent(script, "post", "tournaments", **new | {"contestants": [entries[0]] * 2}).status_code == 409


def test_a_tournament_says_how_it_was_made_and_lies_in_the_bin_until_it_is_restored(
    script: Client, other: Client, ada: User, experiment: Experiment
) -> None:
    entries = [{"run": answered_run(experiment, f"runner {n}", ["one"]).uid, "step": 0} for n in range(2)]
    asked = {"picks": "telling", "seed": 7, "overlap": 2, "gold_set": gold(ada, 2).pk, "gold_every": 9, "warns": True}
    new = {"name": "Mine", "contestants": entries, "criteria": ["helpfulness"], "prompts": 1, **asked}
    told = sent(script, "post", "tournaments", **new).json()
    assert {name: told[name] for name in asked} == asked
    address = f"tournaments/{told['id']}"
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
    assert [one["name"] for one in script.get("/api/v1/tournaments?shelf=bin").json()["items"]] == ["Mine"]
    assert sent(other, "post", f"{address}/restore").status_code == 403
    assert sent(script, "post", f"{address}/restore").json()["name"] == "Mine"
    assert script.get(f"/api/v1/{address}").status_code == 200


def test_a_judge_is_held_against_gold_and_read_with_what_came_of_it(
    script: Client, other: Client, there: Meeting, ada: User
) -> None:
    line = json.dumps({"prompt": "Why?", "response_a": "So.", "response_b": "", "expected": {"helpfulness": "a"}})

    def posted(text: str):  # type: ignore[no-untyped-def]
        return script.post("/api/v1/gold-sets", {"file": SimpleUploadedFile("g.jsonl", text.encode()), "name": "Ours"})

    made = posted(line)
    assert (made.status_code, made.json()["pairs"]) == (201, 1)
    assert (posted(line).status_code, posted(line).json()["id"]) == (200, made.json()["id"])
    assert "Line 2 is no JSON" in paths(posted(line + "\n{"))["file"]
    assert [one["name"] for one in other.get("/api/v1/gold-sets").json()["items"]] == ["Ours"]

    address, asked = f"judges/{there.judge.pk}", {"gold_set": made.json()["id"], "cap": "1"}
    begun = sent(script, "post", f"{address}/calibrations", **asked)
    assert (begun.status_code, begun.json()["planned"], begun.json()["asks_twice"]) == (201, 2, False)
    assert sent(other, "post", f"{address}/calibrations", **asked).status_code == 403
    wrong = sent(script, "post", f"{address}/calibrations", **asked | {"criteria": ["wit"]})
    assert paths(wrong)["criteria"] == "must be of helpfulness, not wit"
    assert script.get(f"/api/v1/assignments/{begun.json()['id']}").json() == begun.json()
    Calibration.objects.create(
        judge=there.judge, rubric=rubric("helpfulness"), gold_set_id=made.json()["id"], passes=True,
        measured={"calls": 2},
    )  # fmt: skip
    told = script.get(f"/api/v1/{address}").json()
    assert told["in_boards"] == [str(rubric("helpfulness"))] and told["calibrations"][0]["measured"] == {"calls": 2}
    assert begun.json()["id"] in [one["id"] for one in told["assignments"]]
    assert "key" not in told and script.get("/api/v1/judges/0").status_code == 404


def test_verdicts_are_read_page_by_page_with_people_as_numbers(script: Client, other: Client, there: Meeting) -> None:
    cast(there.tournament, rubric("helpfulness"), once(invented(9, contestants=2, prompts=1)))
    address = f"/api/v1/tournaments/{there.tournament.pk}/verdicts"
    first = script.get(f"{address}?limit=1&criterion=helpfulness").json()
    (one,) = first["items"]
    assert re.fullmatch(r"person [1-9]", one["by"]) and one["is_person"]
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


def test_a_board_is_ordered_and_read_with_its_hash(script: Client, there: Meeting) -> None:
    helpful = rubric("helpfulness")
    ruled(there.tournament, helpful, Outcome.A)
    address = f"/api/v1/tournaments/{there.tournament.pk}/board"
    assert "POST to /api/v1/tournaments" in script.get(address).json()["detail"]
    assert sent(script, "post", address.removeprefix("/api/v1/"), ties="davidson").status_code == 202
    assert boards.work_through() >= 1
    kept = Snapshot.objects.get(asked__ties="davidson")
    told = script.get(f"{address}?ties=davidson").json()
    assert (told["hash"], told["votes"], told["newer"]) == (kept.digest, 1, 0) and told["board"] == kept.board
    wrong = script.get(f"{address}?ties=elo")
    assert wrong.status_code == 422 and "ties must be one of" in paths(wrong)[""]


def test_a_judge_is_estimated_put_to_work_under_a_cap_and_stopped(
    script: Client, other: Client, there: Meeting
) -> None:
    there.assignment.delete()
    address = f"tournaments/{there.tournament.pk}/assignments"
    estimate = sent(script, "post", address, judge=there.judge.pk, asks_twice=False)
    assert estimate.status_code == 200 and estimate.json()["calls"] == 4 and float(estimate.json()["at_most"]) == 0
    made = sent(script, "post", address, judge=there.judge.pk, criteria=["helpfulness"], cap="2.5", asks_twice=False)
    assert made.status_code == 201 and (made.json()["planned"], made.json()["cap"]) == (2, "2.5")
    again = sent(script, "post", address, judge=there.judge.pk, cap="1")
    assert again.status_code == 409 and "at work there already" in again.json()["detail"]
    work = f"assignments/{made.json()['id']}"
    assert sent(script, "patch", work, do="pause").json()["state"] == "paused"
    assert sent(script, "patch", work, do="go-on", cap="3").json()["cap"] == "3"
    assert sent(script, "patch", work, do="cancel").json()["state"] == "cancelled"
    assert sent(script, "patch", work, do="pause").status_code == 409
    assert sent(other, "patch", work, do="go-on").status_code == 403
    assert other.get(f"/api/v1/{work}/transcript").status_code == 403
    assert text_of(script.get(f"/api/v1/{work}/transcript")) == ""  # type: ignore[arg-type]
    assert "there is no judge 0" in paths(sent(script, "post", address, judge=0))["judge"]


def test_judges_are_listed_with_the_rubrics_that_let_them_in_and_without_keys(
    script: Client, ada: User, there: Meeting
) -> None:
    helpful = rubric("helpfulness")
    Calibration.objects.create(judge=there.judge, rubric=helpful, gold_set=gold(ada, 1), passes=True, measured={})
    listed = script.get("/api/v1/judges").json()["items"]
    assert {one["name"]: one["in_boards"] for one in listed} == {
        "Rules (form alone)": [], there.judge.name: ["helpfulness v1"],
    }  # fmt: skip
    assert not any("key" in name for one in listed for name in one)
    rubrics = script.get("/api/v1/rubrics").json()["items"]
    assert {"helpfulness", "harmlessness"} == {one["criterion"] for one in rubrics}


def test_a_voters_link_is_shown_once_and_ends_when_it_is_taken_back(
    script: Client, other: Client, there: Meeting
) -> None:
    address = f"tournaments/{there.tournament.pk}/invitations"
    made = sent(script, "post", address, names=["Dee"], days=3)
    (one,) = made.json()["items"]
    assert made.status_code == 201 and "/vote/link/" in one["link"]
    told = script.get(f"/api/v1/tournaments/{there.tournament.pk}").json()
    assert [each["name"] for each in told["invitations"]] == ["Which?", "Dee"] and "link" not in told["invitations"][1]
    assert other.get(f"/api/v1/tournaments/{there.tournament.pk}").json()["invitations"] is None
    assert sent(other, "post", address, names=["Eve"]).status_code == 403
    assert other.delete(f"/api/v1/invitations/{one['id']}").status_code == 403
    assert script.delete(f"/api/v1/invitations/{one['id']}").status_code == 204
    assert Invitation.objects.get(pk=one["id"]).revoked_at is not None
    unknown = script.delete(f"/api/v1/invitations/{one['id'] + 1000}")
    assert unknown.status_code == 404 and "There is no invitation" in unknown.json()["detail"]
    assert "Already invited: Dee" in paths(sent(script, "post", address, names=["Dee"]))["names"]


def test_judgments_come_in_and_go_out(script: Client, other: Client) -> None:
    def posted(client: Client, text: str, **said: object):  # type: ignore[no-untyped-def]
        upload = SimpleUploadedFile("mine.jsonl", text.encode())
        return client.post("/api/v1/judgments", {"files": upload, **said})

    told = posted(script, json.dumps(ROW) + "\n{", name="Paper").json()
    assert told["said"] == "1 judgment read in Paper: 1 new; 1 row not understood." and told["is_new"]
    assert told["files"][0]["problems"][0].startswith("mine.jsonl, line 2: is not JSON")
    made = told["tournament"]
    assert posted(script, json.dumps(ROW), into=made).json()["files"][0]["made"] == 0
    assert posted(other, json.dumps(ROW), into=made).status_code == 403
    address = f"/api/v1/tournaments/{made}/judgments"
    assert json.loads(text_of(other.get(address)))["winner"] == "model_a"  # type: ignore[arg-type]
    assert other.get(f"{address}?names=true").status_code == 403
    refused = script.get(f"{address}?form=published")
    assert refused.status_code == 409 and "take FastChat's" in refused.json()["detail"]
    assert script.get(f"/api/v1/tournaments/{made}").json()["imported"]


def test_file_without_judgments_is_refused_and_names_the_formats(script: Client) -> None:
    answer = script.post("/api/v1/judgments", {"files": SimpleUploadedFile("x.jsonl", b"{}")})
    assert answer.status_code == 422 and not Tournament.objects.exists()
    assert "nothing was imported. Judgments are read as JSON lines" in answer.json()["detail"]
    assert paths(answer)["files"] == "x.jsonl, line 1: has neither scores nor winner"


def test_what_is_private_is_not_there_for_others(other: Client, ada: User, experiment: Experiment) -> None:
    hidden = meeting(ada, experiment, is_private=True)
    reads = [f"tournaments/{hidden.tournament.pk}{tail}" for tail in ("", "/board", "/verdicts", "/judgments")]
    for path in [*reads, f"assignments/{hidden.assignment.pk}/transcript"]:
        assert other.get(f"/api/v1/{path}").status_code == 404, path
    assert sent(other, "patch", f"assignments/{hidden.assignment.pk}", do="cancel").status_code == 404
    assert other.delete(f"/api/v1/invitations/{hidden.invitation.pk}").status_code == 404
    assert not other.get("/api/v1/tournaments").json()["items"]
