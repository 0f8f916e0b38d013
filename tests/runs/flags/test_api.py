"""Flags and thresholds over the API."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from runs import access
from runs.models import Experiment, FlagCheck, FlagDismissal, Run
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.flags.flag_cases import make_flagged_run
from workers.analysis.detectors import DETECTORS

pytestmark = pytest.mark.django_db
NAMES = ", ".join(detector.name for detector in DETECTORS)
JSON = "application/json"
SITE = "/api/v1/flag-thresholds"


@pytest.fixture
def flagged(experiment: Experiment) -> Run:
    """Return Ada's run, which wrote nothing at step 10."""
    return make_flagged_run(experiment)


def get(client: Client, address: str) -> Any:
    response = client.get(f"/api/v1/{address}")
    assert response.status_code == 200, response.content
    return response.json()


def dismiss(client: Client, run: Run, reason: str = "Silence is wanted.", detector: str = "empty") -> Any:
    return client.post(f"/api/v1/runs/{run.uid}/flags/{detector}/dismiss", {"reason": reason}, JSON)


def undo(client: Client, run: Run, detector: str = "empty") -> Any:
    return client.post(f"/api/v1/runs/{run.uid}/flags/{detector}/undo")


def names(flags: list[Any]) -> list[str]:
    return [flag["detector"] for flag in flags]


def test_run_has_its_open_flags_with_numbers_and_reason(ada: User, flagged: Run) -> None:
    run = get(calls(ada, "read"), f"runs/{flagged.uid}")
    assert names(run["flags"]) == ["accuracy", "empty"]
    assert run["flags"][1] == {
        "detector": "empty", "title": "Empty responses", "step": 10, "first_step": 10, "value": 1.0, "limit": 0.05,
        "before": 0.0, "n": 10, "compared_with": "step 0", "p": pytest.approx(2.53e-6, rel=0.01), "level": 0.0015,
        "number": 1, "low": pytest.approx(0.663, abs=1e-3), "high": pytest.approx(1.0),
        "reason": "10 of 10 responses are empty. Before: 0 %. Compared with step 0.",
    }  # fmt: skip


def test_list_of_runs_reads_flags_in_one_query(ada: User, experiment: Experiment, flagged: Run) -> None:
    client = calls(ada, "read")
    get(client, "runs")
    with CaptureQueriesContext(connection) as one:
        assert names(get(client, "runs")["items"][0]["flags"]) == ["accuracy", "empty"]
    for seed in (1, 2):
        make_flagged_run(experiment, seed)
    with CaptureQueriesContext(connection) as three:
        assert [bool(run["flags"]) for run in get(client, "runs")["items"]] == [True] * 3
    assert len(one) == len(three)


def test_flags_have_history_and_examples(ada: User, flagged: Run) -> None:
    listed = get(calls(ada, "read"), f"runs/{flagged.uid}/flags")
    items = listed["items"]
    assert "length" in listed["cannot_fire"] and "empty" not in listed["cannot_fire"]
    empty = next(item for item in items if item["detector"] == "empty")
    assert (empty["is_current"], empty["is_open"], empty["dismissals"]) == (True, True, [])
    assert 1 <= len(empty["examples"]) <= 3
    example = empty["examples"][0]
    assert example["prompt"].startswith("Capital of country") and example["now"] == ""
    assert example["target"] in example["before"]


def test_dismissal_closes_the_flag_and_undo_opens_it_again(ada: User, flagged: Run) -> None:
    client = calls(ada)
    response = dismiss(client, flagged, " Silence is wanted. ")
    assert response.status_code == 200
    assert (response.json()["is_open"], response.json()["dismissals"][0]["reason"]) == (False, "Silence is wanted.")
    assert names(get(client, f"runs/{flagged.uid}")["flags"]) == ["accuracy"]
    for _ in range(2):
        assert undo(client, flagged).json()["is_open"] is True
    (dismissal,) = get(client, f"runs/{flagged.uid}/flags")["items"][1]["dismissals"]
    assert (dismissal["dismissed_by"], dismissal["undone_by"], dismissal["step"]) == ("ada", "ada", 10)


def test_repeated_dismissal_replaces_the_reason(ada: User, flagged: Run) -> None:
    client = calls(ada)
    dismiss(client, flagged)
    assert [d["reason"] for d in dismiss(client, flagged, "Better reason.").json()["dismissals"]] == ["Better reason."]
    assert FlagDismissal.objects.count() == 1


@each_case("reason", ["", "   ", "x" * 2001, "\x00"])
def test_dismissal_needs_a_reason(ada: User, flagged: Run, reason: str) -> None:
    response = dismiss(calls(ada), flagged, reason)
    assert response.status_code == 422
    assert any(path.endswith("reason") for path in paths(response))


def test_unknown_detector_is_refused_with_the_valid_ones(ada: User, flagged: Run) -> None:
    for response in (dismiss(calls(ada), flagged, detector="nosuch"), undo(calls(ada), flagged, "nosuch")):
        assert response.status_code == 422
        assert paths(response)["detector"] == f"detector must be one of {NAMES}, not 'nosuch'."


def test_detector_that_did_not_fire_is_not_found(ada: User, flagged: Run) -> None:
    response = dismiss(calls(ada), flagged, detector="length")
    assert response.status_code == 404
    assert "has no flag length; its flags are accuracy, empty" in response.json()["detail"]


@pytest.mark.parametrize("change", [dismiss, undo])
def test_only_users_who_may_change_the_run_dismiss_its_flags(change: Any, ada: User, bo: User, flagged: Run) -> None:
    assert change(calls(bo), flagged).status_code == 403
    assert change(calls(ada, "read"), flagged).status_code == 403
    Experiment.objects.update(is_private=True)
    assert change(calls(bo), flagged).status_code == 404
    assert calls(bo).get(f"/api/v1/runs/{flagged.uid}/flags").status_code == 404
    assert FlagDismissal.objects.count() == 0


def test_site_thresholds_are_set_by_admins_only(ada: User, flagged: Run) -> None:
    body = {"thresholds": {"empty": 0.2, "length": None}}
    assert calls(ada, "admin").put(SITE, body, JSON).status_code == 403
    access.give_role(ada, "admin")
    assert calls(ada).put(SITE, body, JSON).status_code == 403
    before = FlagCheck.objects.get(run=flagged).arrived
    for _ in range(2):
        thresholds = calls(ada, "admin").put(SITE, body, JSON).json()
        assert thresholds["thresholds"] == body["thresholds"]
    assert (thresholds["effective"]["empty"], thresholds["effective"]["length"]) == (0.2, None)
    assert (thresholds["effective"]["collapse"], thresholds["changed_by"]) == (0.3, "ada")
    assert FlagCheck.objects.get(run=flagged).arrived > before


def test_site_thresholds_are_read_with_their_detectors(bo: User) -> None:
    thresholds = get(calls(bo, "read"), "flag-thresholds")
    assert [detector["name"] for detector in thresholds["detectors"]] == [detector.name for detector in DETECTORS]
    assert (thresholds["thresholds"], thresholds["changed_by"], thresholds["changed_at"]) == ({}, None, None)
    assert thresholds["effective"] == {detector.name: detector.threshold for detector in DETECTORS}


def test_experiment_thresholds_precede_the_sites(ada: User, experiment: Experiment) -> None:
    access.give_role(ada, "admin")
    client, address = calls(ada, "admin"), f"/api/v1/experiments/{experiment.pk}/flag-thresholds"
    client.put(SITE, {"thresholds": {"empty": 0.2, "length": 5}}, JSON)
    client.put(address, {"thresholds": {"empty": 0.5}}, JSON)
    thresholds = client.get(address).json()
    assert (thresholds["thresholds"], thresholds["effective"]["empty"], thresholds["effective"]["length"]) == (
        {"empty": 0.5}, 0.5, 5.0,
    )  # fmt: skip
    assert client.put(address, {"thresholds": {}}, JSON).json()["effective"]["empty"] == 0.2
    assert client.get(SITE).json()["thresholds"] == {"empty": 0.2, "length": 5.0}


def test_experiment_thresholds_are_set_by_its_owner(ada: User, bo: User, experiment: Experiment) -> None:
    address, body = f"/api/v1/experiments/{experiment.pk}/flag-thresholds", {"thresholds": {"empty": 0.5}}
    assert calls(ada).put(address, body, JSON).status_code == 200
    assert calls(bo).put(address, body, JSON).status_code == 403
    assert calls(ada, "read").put(address, body, JSON).status_code == 403
    assert calls(bo, "read").get(address).status_code == 200
    Experiment.objects.update(is_private=True)
    assert calls(bo).put(address, body, JSON).status_code == 404
    assert calls(bo).get(address).status_code == 404


@each_case(
    ("thresholds", "message"),
    [
        ({"nosuch": 1.0}, f"'nosuch' is no detector; the detectors are {NAMES}"),
        ({"empty": 1.5}, "empty must be a number from 0 to 1, or null to turn it off, not 1.5"),
        ({"length": 0}, "length must be a number from 1 to 100, or null to turn it off, not 0.0"),
    ],
    ids=["unknown", "too high", "too low"],
)
def test_invalid_thresholds_are_refused_with_the_valid_ones(
    ada: User, experiment: Experiment, thresholds: Any, message: str
) -> None:
    address = f"/api/v1/experiments/{experiment.pk}/flag-thresholds"
    response = calls(ada).put(address, {"thresholds": thresholds}, JSON)
    assert (response.status_code, paths(response)["thresholds"]) == (422, message)


@each_case("text", ['"1"', "true", "1e999", "1" + 400 * "0", "NaN", "[]"])
def test_threshold_that_is_no_number_is_refused(ada: User, experiment: Experiment, text: str) -> None:
    address = f"/api/v1/experiments/{experiment.pk}/flag-thresholds"
    response = calls(ada).put(address, f'{{"thresholds": {{"empty": {text}}}}}', JSON)
    assert response.status_code in (400, 422)
