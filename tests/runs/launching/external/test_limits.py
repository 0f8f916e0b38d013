"""A config, summary or tags beyond their limits are stored as far as they fit, with everything that came with them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from runs.launching.external.limits import MAX_CONFIG_BYTES, MAX_LEAVES, json_bytes, merge_within
from runs.models import AttemptEvent, Run
from tests.cases import each_case
from tests.runs.launching.external.programs import create, start

BIG = "x" * 600_000


def warnings() -> list[str]:
    return list(AttemptEvent.objects.filter(level="warning").order_by("pk").values_list("why", flat=True))


def test_start_is_stored_without_the_entry_that_does_not_fit(ada: User) -> None:
    for _ in range(2):
        created = create(ada, config={"big": BIG * 2, "lr": 1, "model": {"name": "tiny", "vocabulary": [BIG] * 2}})
        assert created.status_code == 201
    assert created.json()["config"] == {"lr": 1, "model": {"name": "tiny"}}
    assert [problem["path"] for problem in created.json()["problems"]] == ["config"]
    assert warnings() == [
        "config: it has at most 1000 kB of JSON. Not stored: model.vocabulary (1200.0 kB), big (1200.0 kB)"
    ]


def test_config_that_grows_keeps_what_it_has(ada: User) -> None:
    start(ada, config={"a": BIG})
    second = start(ada, start="s2", config={"b": BIG, "c": 2})
    assert Run.objects.get().config == {"a": BIG, "c": 2}
    assert second.created["problems"][0]["message"].endswith("Not stored: b (600.0 kB)")
    assert second.attempt.state == "running"


def test_heartbeat_stores_all_but_the_part_beyond_its_limit(ada: User) -> None:
    program = start(ada, config={"a": BIG}, tags=[str(n) for n in range(49)])
    news = {"config": {"b": BIG, "lr": 1}, "summary": {"big": BIG, "best": 2}, "tags": ["t", "u"], "name": "New"}
    reply = program.heartbeat(**news)
    assert reply.status_code == 200
    assert [problem["path"] for problem in reply.json()["problems"]] == ["config", "tags", "summary"]
    run = program.run
    assert (run.config, run.external.summary, run.name) == ({"a": BIG, "lr": 1}, {"best": 2}, "New")
    assert (len(run.tags), run.tags[-1]) == (50, "t")
    assert [reason.partition(":")[0] for reason in warnings()] == ["config", "tags", "summary"]
    assert "problems" not in program.heartbeat().json()


def test_end_counts_although_its_summary_is_too_large(ada: User) -> None:
    program = start(ada)
    reply = program.end(state="failed", reason="no memory", exit_code=1, summary={"big": BIG, "best": 1})
    assert (reply.status_code, reply.json()["state"]) == (200, "failed")
    attempt = program.attempt
    assert (attempt.reason, attempt.run.external.summary) == ("no memory", {"best": 1})
    assert warnings() == ["summary: it has at most 100 kB of JSON. Not stored: big (600.0 kB)"]


def many(count: int, size: int) -> dict[str, Any]:
    return {f"key {number}": "y" * size for number in range(count)}


@each_case(
    ("former", "new", "stored"),
    [
        ({}, many(2000, 1000), 980),
        ({}, {"a": many(2000, 1000)}, 980),
        (many(900, 1000), many(2000, 1000), 950),
        ({"a": 1}, {"a": "x" * 2_000_000}, 1),
        ({}, many(MAX_LEAVES * 3, 20), MAX_LEAVES),
        ({"a": {"b": 1}}, {"a": {"b": {"c": "x" * 2_000_000}}}, 1),
        ({}, {"": {"": {"": "x" * 2_000_000}}, "b": {}}, 1),
    ],
    ids=["many", "nested", "grown", "replaced", "very-many", "deeper", "empty-keys"],
)
def test_stored_part_fits_and_is_most_of_it(former: dict[str, Any], new: dict[str, Any], stored: int) -> None:
    whole, problems = merge_within("config", former, new, MAX_CONFIG_BYTES)
    assert json_bytes(whole) <= MAX_CONFIG_BYTES
    assert len(whole.get("a", whole) if isinstance(whole.get("a"), dict) else whole) >= stored
    assert len(problems) == 1 and len(problems[0].message) < 2_000
    if len(new) <= MAX_LEAVES:
        assert merge_within("config", whole, new, MAX_CONFIG_BYTES) == (whole, problems)
