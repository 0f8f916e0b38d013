"""Bodies of external runs are refused, or stored as far as JSON and PostgreSQL permit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from runs.models import Experiment, Run
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.launching.external.programs import create, post, start


def test_errors_name_the_fields_of_the_kind(ada: User) -> None:
    client = calls(ada)
    launch = paths(post(client, "runs", {"experiment_name": "x", "seed": "a", "project": "x"}))
    assert launch.keys() == {"new.seed", "new.project"}
    external = paths(post(client, "runs", {"kind": "external", "project": "x", "seed": "a", "preset": "es-micro"}))
    assert external.keys() == {"new.seed", "new.preset"}
    other = paths(post(client, "runs", {"kind": "imported"}))
    assert "launched or external" in other["new"]


def nested(depth: int) -> dict[str, Any]:
    return {"a": nested(depth - 1)} if depth else {}


HOSTILE: dict[str, Callable[[], dict[str, Any]]] = {
    "no project": lambda: {"project": None},
    "project and experiment": lambda: {"experiment": 1},
    "empty project": lambda: {"project": "  "},
    "method of a measurement": lambda: {"method": "evaluate"},
    "scorer": lambda: {"method": "scorer"},
    "long method": lambda: {"method": "m" * 21},
    "method in capitals": lambda: {"method": "PPO"},
    "method with a newline": lambda: {"method": "ppo\n"},
    "seed beyond 64 bits": lambda: {"seed": 2**63},
    "config as list": lambda: {"config": [1]},
    "NUL in a key": lambda: {"config": {"a\x00": 1}},
    "half a surrogate": lambda: {"config": {"a": ["\ud800"]}},
    "large git": lambda: {"git": {"diff": "x" * 100_001}},
    "id with a slash": lambda: {"id": "a/b"},
    "id with a newline": lambda: {"id": "a\n"},
    "long id": lambda: {"id": "a" * 65},
    "long start": lambda: {"start": "s" * 101},
    "NUL in the start": lambda: {"start": "s\x00"},
    "long command": lambda: {"command": "c" * 10_001},
    "time that is no number": lambda: {"started_at": float("nan")},
    "short silence": lambda: {"lost_after_seconds": 0},
    "endless silence": lambda: {"lost_after_seconds": float("inf")},
    "unknown field": lambda: {"tokens": 1},
    "many tags": lambda: {"tags": [str(n) for n in range(51)]},
    "long group": lambda: {"group": "g" * 101},
}


@each_case("name", HOSTILE)
def test_hostile_body_is_refused(ada: User, name: str) -> None:
    refused = create(ada, **HOSTILE[name]())
    assert refused.status_code == 422, refused.content
    assert paths(refused) and not Run.objects.exists() and not Experiment.objects.exists()


def test_deeply_nested_config_is_refused(ada: User) -> None:
    assert create(ada, config=nested(40)).status_code == 201
    assert create(ada, id="deep", config=nested(60)).status_code == 400


def test_config_with_numbers_that_json_lacks_names_them(ada: User) -> None:
    body = '{"kind": "external", "project": "x", "config": {"a": NaN, "b": [1e999, -Infinity], "seed": true}}'
    created = calls(ada, "report").post("/api/v1/runs", body, content_type="application/json")
    assert created.status_code == 201
    assert created.json()["config"] == {"a": "NaN", "b": ["Infinity", "-Infinity"], "seed": True}
    assert created.json()["seed"] == -1


@each_case("seconds", [-1e300, 0.0, 1e300, 4e9])
def test_impossible_start_time_becomes_now(ada: User, seconds: float) -> None:
    before = timezone.now()
    started_at = start(ada, started_at=seconds).attempt.started_at
    assert started_at is not None and before <= started_at <= timezone.now()
