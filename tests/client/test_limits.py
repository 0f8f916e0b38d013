"""A config or summary beyond its limit is sent as far as it fits. The run names what is not stored, also if the server
refuses it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import esweb_client
from esweb_client.limits import LIMITS, fit, json_bytes
from esweb_client.spool import META, STATE, read_json, write_json
from esweb_client.sync import sync
from tests.client.conftest import finish
from tests.client.receiver import TOKEN, Receiver, Reply
from tests.client.spool_files import log, offline, only_spool
from tests.waiting import wait_until

Start = Callable[..., esweb_client.Run]
CHUNK = "x" * 10_000
BIG = [CHUNK] * 60
HUGE = [CHUNK] * 120


def news(receiver: Receiver) -> dict[str, Any]:
    """Return what the heartbeats report, merged."""
    merged: dict[str, Any] = {"config": {}, "summary": {}}
    for body in receiver.attempt.heartbeats:
        for name, value in body.items():
            merged[name] = {**merged[name], **value} if isinstance(value, dict) else value
    return merged


def test_config_is_sent_as_far_as_it_fits(start: Start, receiver: Receiver, capsys: pytest.CaptureFixture[str]) -> None:
    run = start(config={"huge": HUGE, "lr": 1, "model": {"name": "tiny", "vocabulary": HUGE}}, tags=["t"])
    finish(run)
    assert receiver.registrations[0]["config"] == {"lr": 1, "model": {"name": "tiny"}}
    assert receiver.registrations[0]["tags"] == ["t"]
    sentence = (
        "A run's config has at most 1 MB of JSON. Not sent: huge (1200.5 kB), model.vocabulary (1200.5 kB). "
        "The rest of the config is sent."
    )
    assert receiver.attempt.alerts == [("warning", sentence)]
    assert capsys.readouterr().err.count(sentence) == 1
    # The program may read its own config.
    assert run.config["huge"] == HUGE


def test_summary_is_sent_as_far_as_it_fits(start: Start, receiver: Receiver) -> None:
    run = start()
    run.summary.update(best=1, big=BIG)
    run.summary["words"] = "many"
    run.name = "later"
    finish(run)
    assert receiver.attempt.end is not None
    assert receiver.attempt.end["summary"] == {"best": 1, "words": "many"}
    assert (news(receiver)["name"], news(receiver)["summary"]) == ("later", {"best": 1, "words": "many"})
    assert [message for _, message in receiver.attempt.alerts] == [
        "A run's summary has at most 100 kB of JSON. Not sent: big (600.2 kB). The rest of the summary is sent."
    ]


def test_config_that_grows_keeps_what_was_sent(start: Start, receiver: Receiver, spools: Path) -> None:
    run = start(config={"a": BIG})
    for _ in range(3):
        run.config.update(b=BIG, lr=1)
    finish(run)
    state = read_json(only_spool(spools) / STATE)
    assert (state["config"], run.config["b"]) == ({"a": BIG, "lr": 1}, BIG)
    assert len(receiver.attempt.alerts) == 1 and "Not sent: b (600.2 kB)" in receiver.attempt.alerts[0][1]
    reported = {**receiver.registrations[-1]["config"], **news(receiver)["config"]}
    assert reported == {"a": BIG, "lr": 1}


def test_values_that_are_replaced_do_not_fill_the_limit(start: Start, receiver: Receiver) -> None:
    run = start()
    for number in range(300):
        run.summary["text"] = f"{number} {CHUNK[:1000]}"
    finish(run)
    assert receiver.attempt.alerts == []
    assert receiver.attempt.end is not None
    assert receiver.attempt.end["summary"]["text"].startswith("299 ")


def test_spool_with_a_config_that_is_too_large_is_sent(spools: Path, receiver: Receiver) -> None:
    finish(offline(spools))
    folder = only_spool(spools)
    request = read_json(folder / META)["request"]
    write_json(folder / META, {"request": {**request, "config": {"huge": HUGE, "lr": 1}}})
    write_json(folder / STATE, {"summary": {"big": BIG, "best": 1}})
    assert sync(spools, (receiver.url, TOKEN), lambda line: None).is_complete
    assert receiver.registrations[-1]["config"] == {"lr": 1}
    assert receiver.attempt.end is not None and receiver.attempt.end["summary"] == {"best": 1}
    assert [message.partition(" has")[0] for _, message in receiver.attempt.alerts] == ["A run's config"]


@pytest.mark.parametrize(
    ("values", "least"),
    [
        ({f"key {number}": CHUNK for number in range(200)}, 98),
        ({"a": {"b": {f"{number}": "é" * 1000 for number in range(2000)}}}, 1),
        ({"a": "\x00\ud800" * 1000, "b": {}}, 2),
        ({"a": HUGE}, 0),
    ],
    ids=["many", "nested", "surrogates", "one"],
)
def test_fitting_part_is_within_the_limit(values: dict[str, Any], least: int) -> None:
    fitting, omitted = fit(values, LIMITS["config"])
    assert json_bytes(fitting) <= LIMITS["config"]
    assert len(fitting) >= least
    assert bool(omitted) is (fitting != values)


def test_refused_changes_do_not_stop_the_others(start: Start, receiver: Receiver) -> None:
    receiver.before = lambda path, body: (422, {"detail": "too large"}, {}) if b'"huge": 1' in body else None
    run = start(name="first")
    wait_until(lambda: receiver.attempts, "the registration")
    run.config["huge"] = 1
    run.name = "later"
    run.tags = ["t"]
    run.summary["huge"] = 1
    log(run, 10)
    finish(run)
    assert receiver.attempt.values("x") == [float(step) for step in range(10)]
    news: dict[str, Any] = {}
    for body in receiver.attempt.heartbeats:
        news.update(body)
    assert (news["name"], news["tags"]) == ("later", ["t"])
    assert receiver.attempt.alerts == [
        ("warning", "The server refused a change of the run's config: 422 too large"),
        ("warning", "The server refused a change of the run's summary: 422 too large"),
        ("warning", "The server refused the run's summary: 422 too large"),
    ]


@pytest.mark.parametrize("names_it", [True, False], ids=["named", "unnamed"])
def test_refused_setting_does_not_stop_the_registration(start: Start, receiver: Receiver, names_it: bool) -> None:
    problems = [{"path": "new.config", "message": "is bad"}] if names_it else []

    def refuse(path: str, body: bytes) -> Reply | None:
        is_bad = path.endswith("/runs") and b'"huge"' in body
        return (422, {"detail": "invalid", "problems": problems}, {}) if is_bad else None

    receiver.before = refuse
    run = start(config={"huge": "x" * 9000, "lr": 1}, tags=["t"], note="n", name="first")
    log(run, 10)
    finish(run)
    assert receiver.attempt.values("x") == [float(step) for step in range(10)]
    request = receiver.registrations[0]
    assert (request["tags"], request["note"], request["name"], request.get("config")) == (["t"], "n", "first", None)
    reason = "is bad" if names_it else "422 invalid"
    assert receiver.attempt.alerts == [("warning", f"The server refused the run's config: {reason}")]
