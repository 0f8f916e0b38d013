"""Reading over the API: runs page by page, curves of many runs in one call, answers."""

import json
import math

import pytest

from runs.ingest import ingest
from tests.runs import full_runs
from tests.runs.api_client import calls, paths
from tests.runs.attempt_records import NOON, answer, lines, make_attempt, make_run, metrics
from workers.records import Metric, Status


@pytest.fixture
def api(bo):
    return calls(bo, "read")


@pytest.fixture
def attempt(experiment):
    return make_attempt(make_run(experiment))


def strict(answer):
    """Return the body, refusing anything that strict JSON lacks."""
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_a_run_is_read_with_its_attempts_and_newest_values(api, attempt):
    attempt.reason = "waits for a slot"
    attempt.save()
    ingest(attempt, 0, lines([Metric(0, {"a": math.nan}), Metric(1, {"b": 2.0}), Status("training", "step 1", 0.5)]))
    run_json = strict(api.get(f"/api/v1/runs/{attempt.run.uid}"))
    assert run_json["latest"] == {"a": "NaN", "b": 2.0}
    (attempt_json,) = run_json["attempts"]
    assert attempt_json == attempt_json | {
        "key": attempt.key,
        "n": 1,
        "reason": "waits for a slot",
        "phase": "training",
        "progress": 0.5,
    }
    assert run_json["config"]["method"] == "es"


def test_missing_run_returns_404_with_a_message(api):
    reply = api.get("/api/v1/runs/zzzzzzzzzz")
    assert (reply.status_code, reply.json()["detail"]) == (404, "There is no run zzzzzzzzzz that you may see")
    assert api.get("/api/v1/runs/%00").status_code == 422


def test_runs_come_newest_first_page_by_page(api, experiment, private_experiment):
    names = [make_run(experiment, f"es {i}").name for i in range(5)]
    make_run(private_experiment)
    seen, cursor = [], ""
    while cursor is not None:
        page = strict(api.get(f"/api/v1/runs?experiment={experiment.pk}&limit=2{cursor and f'&cursor={cursor}'}"))
        seen += [run["name"] for run in page["items"]]
        cursor = page["next"]
    assert seen == names[::-1]


def test_runs_are_filtered_by_state(api, experiment):
    run = make_run(experiment)
    make_run(experiment)
    run.state = "failed"
    run.save()
    assert [r["uid"] for r in strict(api.get("/api/v1/runs?state=failed"))["items"]] == [run.uid]
    refused = api.get("/api/v1/runs?state=broken")
    assert refused.status_code == 422
    assert "'succeeded'" in paths(refused)["state"]


def test_the_number_of_queries_does_not_depend_on_the_number_of_runs(api, experiment, django_assert_max_num_queries):
    for i in range(20):
        make_run(experiment, f"es {i}")
    api.get("/api/v1/runs")
    with django_assert_max_num_queries(4):
        api.get("/api/v1/runs?limit=20")


def test_curves_of_many_runs_and_keys_come_in_one_answer(api, attempt, experiment):
    other = make_attempt(make_run(experiment, "grpo 0"))
    ingest(attempt, 0, metrics(3))
    ingest(other, 0, lines([Metric(0, {"reward/mean": math.inf, "kl": 0.5}), Metric(1, {"kl": math.nan})]))
    first, second = attempt.run.uid, other.run.uid
    series = strict(api.get(f"/api/v1/series?run={first}&run={second}&key=reward/mean&key=kl"))
    assert series["x"] == "step"
    assert [(c["run"], c["key"], c["x"], c["y"]) for c in series["curves"]] == [
        (first, "reward/mean", [0, 1, 2], [0, 1, 4]),
        (second, "reward/mean", [0], ["Infinity"]),
        (second, "kl", [0, 1], [0.5, "NaN"]),
    ]
    assert series["curves"][0]["overwritten"] == [False] * 3


def test_curves_are_down_sampled_along_the_requested_axis(api, attempt):
    ingest(attempt, 0, metrics(3000))
    (curve,) = strict(api.get(f"/api/v1/series?run={attempt.run.uid}&key=reward/mean&x=tokens&px=100"))["curves"]
    assert curve["points"] == 3000
    assert len(curve["x"]) <= 400
    assert (curve["x"][0], curve["x"][-1]) == (0, 29_990)


def test_an_unknown_axis_or_width_names_the_valid_ones(api, attempt):
    refused = api.get(f"/api/v1/series?run={attempt.run.uid}&key=a&x=epoch&px=0")
    assert refused.status_code == 422
    errors = paths(refused)
    assert "'gpu_seconds'" in errors["x"]
    assert "greater than or equal to 1" in errors["px"]


def test_series_of_a_run_that_is_not_there_name_it(api, attempt):
    refused = api.get(f"/api/v1/series?run={attempt.run.uid}&run=zzzzzzzzzz&key=a")
    assert refused.status_code == 404
    assert "There is no run zzzzzzzzzz" in refused.json()["detail"]


def test_too_many_curves_name_the_limit(api, attempt):
    query = "&".join([*["run=" + attempt.run.uid] * 50, *(f"key=k{i}" for i in range(41))])
    assert "50 runs × 41 keys exceed 2000 curves" in paths(api.get(f"/api/v1/series?{query}"))["key"]
    assert api.get(f"/api/v1/series?{query}{'&key=a' * 1000}").status_code == 413


def test_answers_are_read_page_by_page_by_step_and_split(api, attempt):
    hostile = "<script>alert(1)</script>"
    records = [answer(s, f"{hostile} {i}", sample=i, kl=math.nan) for s in (0, 10) for i in range(3)]
    ingest(attempt, 0, lines([*records, answer(10, split="train", parts={"exact": math.inf})]))
    address = f"/api/v1/runs/{attempt.run.uid}/responses"
    page = strict(api.get(f"{address}?step=10&split=eval&limit=2"))
    rest = strict(api.get(f"{address}?step=10&split=eval&limit=2&cursor={page['next']}"))
    assert [a["text"] for a in page["items"] + rest["items"]] == [f"{hostile} {i}" for i in range(3)]
    assert rest["next"] is None
    item = page["items"][0]
    assert item == item | {"step": 10, "split": "eval", "sample": 0, "tokens": 3, "reward": -1.0, "kl": "NaN"}
    assert item["prompt"] == item["prompt"] | {"name": "spain", "text": "Capital of Spain?", "target": "Madrid"}
    (trained,) = strict(api.get(f"{address}?split=train"))["items"]
    assert (trained["parts"], trained["kl"]) == ({"exact": "Infinity"}, None)


def test_populations_and_attempts_are_read_as_they_were_written(api, experiment):
    run = full_runs.make_run(experiment)
    full_runs.record(run, full_runs.a_bit_of_everything())
    populations = strict(api.get(f"/api/v1/runs/{run.uid}/populations?limit=1"))
    rest = strict(api.get(f"/api/v1/runs/{run.uid}/populations?cursor={populations['next']}"))
    assert [(p["step"], len(p["members"])) for p in populations["items"] + rest["items"]] == [(0, 2), (5, 2)]
    assert rest["items"] == strict(api.get(f"/api/v1/runs/{run.uid}/populations?step=5"))["items"]
    assert [member["engine"] for member in rest["items"][0]["members"]] == [0, 1]
    (attempt_json,) = strict(api.get(f"/api/v1/runs/{run.uid}/attempts"))["items"]
    whole = strict(api.get(f"/api/v1/attempts/{attempt_json['key']}"))
    assert whole == whole | attempt_json | {"run": run.uid}
    assert [(event["level"], event["why"]) for event in whole["events"]] == [("warning", "Step 5: dead iteration")]


def test_reports_of_engines_are_read_page_by_page_and_by_step(api, experiment):
    run = full_runs.make_run(experiment)
    full_runs.record(run, [full_runs.two_engines(step) for step in (1, 2, 3)])
    address = f"/api/v1/runs/{run.uid}/engines"
    first = strict(api.get(f"{address}?limit=2"))
    rest = strict(api.get(f"{address}?cursor={first['next']}"))
    assert [report["step"] for report in first["items"] + rest["items"]] == [1, 2, 3]
    assert rest["next"] is None
    (report,) = strict(api.get(f"{address}?step=2"))["items"]
    assert report == report | {"attempt": 1, "epoch": 1, "t": NOON + 1, "bytes": 32}
    assert report["engines"][1] == {
        "number": 1, "state": "ready", "device": "cuda:1", "members": 3, "tokens": 150, "seconds": 0.75, "restarts": 0,
        "weights": "02" * 32, "compared_at": 2, "node": "",
    }  # fmt: skip
    assert paths(api.get(f"{address}?step=x"))["step"]
    assert strict(api.get(f"/api/v1/runs/{full_runs.make_run(experiment, seed=1).uid}/engines"))["items"] == []
