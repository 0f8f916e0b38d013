"""`site.json` and `scores.jsonl` may be anybody's: they are applied as far as they can be stored, and never beyond."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs import metrics
from runs.models import AttemptEvent, Import, Run, Score
from tests.cases import each_case
from tests.runs.importing.run_folders.folders import UID, import_path, remarks_of, write_attempt

pytestmark = pytest.mark.usefixtures("runs_dir")
FACTS: dict[str, Any] = {
    "format": 1, "records": "files", "events": [{"at": 1.7e9, "level": "info", "why": "seen", "to_state": "failed"}],
    "run": {"uid": UID, "name": "named", "method": "es", "seed": 5, "state": "failed", "series_origin": "evaluator"},
    "attempt": {"n": 1, "origin": "launch", "state": "failed", "reason": "by itself", "started_at": 1.7e9},
}  # fmt: skip


def facts_with(part: str = "", **changes: Any) -> dict[str, Any]:
    """Return the facts with other values in one part, or at the top."""
    return {**FACTS, part: {**FACTS[part], **changes}} if part else {**FACTS, **changes}


UNREADABLE = {
    "no JSON": b"{", "a list": b"[]", "deep": b'{"format": 1, "run": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "newer": facts_with(format=2), "seed of text": facts_with("run", seed="5"),
    "state of list": facts_with("run", state=[]), "seed too long": facts_with("run", seed=2**70),
    "event without time": facts_with(events=[{"level": "info", "why": "x"}]),
    "infinite time": b'{"format": 1, "records": "files", "attempt": {"n": 1, "ended_at": 1e999}}',
}  # fmt: skip
STORED: dict[str, dict[str, Any]] = {
    "characters": facts_with(
        "run", name="a\0b\ud800", note="\0", tags=["\0", "x" * 500], cell={"\0": ["\ud800", 10**400]}
    ),
    "open state": facts_with("attempt", state="running"),
    "unknown state": facts_with("attempt", state="well"),
    "far numbers": facts_with("attempt", exit_code=2**40, progress=7.0, ended_at=1e18, resumed_attempt=-3),
    "code": facts_with("attempt", code={"sha256": "ab" * 32, "commit": {"x": 1}, "version": "\0"}),
    "program": facts_with("run", external={
        "program": "x" * 999, "host": "\0", "command": "", "lost_after_seconds": -1e300, "git": {"commit": ["\0"]},
        "summary": {"\ud800": 1},
    }),
    "events": facts_with(events=[{"at": 1e300, "level": "loud", "why": "\0"}, {"at": 5, "level": "loud", "why": "\0"}]),
}  # fmt: skip


def imported(folder: Path, person: User, facts: object, scores: bytes = b"") -> tuple[Run, list[str]]:
    """Import an attempt's folder with these facts and scores, and return its run and the remarks."""
    attempt = write_attempt(folder / f"esweb-{UID}-a1")
    data = facts if isinstance(facts, bytes) else json.dumps(facts).encode()
    (attempt / "site.json").write_bytes(data)
    if scores:
        (attempt / "scores.jsonl").write_bytes(scores)
    result = import_path(folder, person)
    (run,) = result.new_runs
    return Run.objects.get(pk=run.pk), remarks_of(result)


@each_case("name", UNREADABLE)
def test_unreadable_facts_are_reported_and_the_records_count(name: str, ada: User, tmp_path: Path) -> None:
    run, remarks = imported(tmp_path / "in", ada, UNREADABLE[name])
    assert run.state == "succeeded" and run.population_set.count() == 3
    assert any("site.json" in remark and "cannot be used" in remark for remark in remarks), remarks


@each_case("name", STORED)
def test_odd_facts_are_stored_as_far_as_they_fit(name: str, ada: User, ada_client: Client, tmp_path: Path) -> None:
    run, _ = imported(tmp_path / "in", ada, STORED[name])
    attempt = run.attempts.get()
    assert not run.is_open and not attempt.is_open and run.uid != UID and run.parent is None
    assert attempt.state == ("succeeded" if "state" in name else "failed")
    assert ada_client.get(run.get_absolute_url()).status_code == 200


def test_facts_replace_events_of_alerts_and_keep_the_names_of_known_runs(ada: User, tmp_path: Path) -> None:
    run, remarks = imported(tmp_path / "in", ada, FACTS)
    assert (run.name, run.state, remarks) == ("named", "failed", [])
    whys = list(AttemptEvent.objects.filter(attempt__run=run).order_by("at").values_list("why", flat=True))
    assert whys[0] == "seen" and len(whys) == 2 and whys[1].startswith("imported from")
    Run.objects.filter(pk=run.pk).update(name="mine", tags=["mine"])
    (tmp_path / "in" / f"esweb-{UID}-a1" / "site.json").write_text(
        json.dumps(facts_with("attempt", state="cancelled") | {"events": []})
    )
    assert import_path(tmp_path / "in", ada).continued_runs == [run]
    run.refresh_from_db()
    assert (run.name, run.tags, run.state) == ("mine", ["mine"], "cancelled")


@each_case(
    "stated, origin",
    [("evaluator", "evaluator"), ("import:evaluation", "import:evaluation"), ("push", "push"), ("external", "external"),
     ("site:admin", "evaluator"), ("import:\n", "evaluator"), ("import:" + "x" * 99, "evaluator")],
)  # fmt: skip
def test_stated_origin_of_series_is_one_that_there_is(stated: str, origin: str, ada: User, tmp_path: Path) -> None:
    run, _ = imported(tmp_path / "in", ada, facts_with("run", series_origin=stated))
    assert metrics.origins_of([run])[run.pk] == origin
    assert Import.objects.get(run=run).series_origin == ("" if origin == "evaluator" else origin)


def test_scores_are_stored_with_their_responses_and_others_reported(ada: User, tmp_path: Path) -> None:
    score = {"epoch": 0, "seq": 4, "scorer": "s", "key": "cost", "value": 0.1}
    wrong: list[Any] = [
        {**score, "seq": 0}, {**score, "seq": "4"}, {**score, "value": "NaN"}, {**score, "scorer": "\0"},
        {**score, "key": "x" * 99}, [], {"epoch": 0},
    ]  # fmt: skip
    lines = "\n".join(json.dumps(line) for line in [score, *wrong]) + "\n{\n"
    run, remarks = imported(tmp_path / "in", ada, FACTS, lines.encode())
    assert [(row.response.seq, row.value) for row in Score.objects.filter(response__run=run)] == [(4, 0.1)]
    assert sum("is no score" in remark for remark in remarks) == 7
    assert sum("which is no response" in remark for remark in remarks) == 1
