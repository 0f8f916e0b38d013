"""A run reports to a server while it is written, and ends there as it ended here."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import esweb_client
from tests.client.conftest import finish
from tests.client.receiver import TOKEN, Receiver
from tests.client.spool_files import environment, only_spool, program
from tests.waiting import PATIENCE_SECONDS, wait_until

Start = Callable[..., esweb_client.Run]


def run_program(text: str, spools: Path, receiver: Receiver, **more: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        program(text),
        env=environment(spools, receiver, **more),
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def test_records_arrive_during_the_run(start: Start, receiver: Receiver) -> None:
    run = start(project="p", config={"lr": 1e-5}, tags=["a"], group="g", method="grpo", seed=3)
    for step in range(50):
        run.log({"x": float(step)}, step=step)
    wait_until(
        lambda: receiver.attempts and receiver.attempt.values("x") == [float(n) for n in range(50)], "the records"
    )
    assert receiver.attempt.end is None
    run.log({"x": 50.0})
    finish(run)
    assert receiver.attempt.values("x") == [float(n) for n in range(51)]
    assert receiver.attempt.end is not None
    assert receiver.attempt.end["state"] == "succeeded"
    request = receiver.registrations[0]
    assert (request["kind"], request["project"], request["config"]) == ("external", "p", {"lr": 1e-5})
    assert (request["tags"], request["group"], request["method"], request["seed"]) == (["a"], "g", "grpo", 3)
    assert run.url == f"{receiver.url}/runs/run0/"


def test_every_kind_arrives_in_order(start: Start, receiver: Receiver, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint-1"
    folder.mkdir()
    (folder / "model.bin").write_bytes(b"weights")
    run = start()
    run.log({"x": 1.0}, step=1, axes={"tokens": 5})
    run.log_responses(["a", "b", "c"], step=1, prompts=["p", "p", "q"], rewards=[1, None, float("inf")], split="eval")
    run.log_population([(7, 0.5), {"seed": 8, "reward": 0.25, "z": -1, "parts": {"len": 3}}], step=1)
    run.log_checkpoint(folder, step=1)
    run.log_status("training", "step 1", progress=0.5)
    run.alert("Reward fell", "by half", level="warning", step=1)
    finish(run)
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for record in receiver.attempt.records:
        by_kind.setdefault(record["kind"], []).append(record)
    assert [r["sample"] for r in by_kind["response"]] == [0, 1, 0]
    assert [r["reward"] for r in by_kind["response"]] == [1.0, "NaN", "Infinity"]
    assert by_kind["population"][0]["members"][1] == {"seed": 8, "reward": 0.25, "z": -1.0, "parts": {"len": 3.0}}
    assert (by_kind["checkpoint"][0]["path"], by_kind["checkpoint"][0]["bytes"]) == (str(folder).lstrip("/"), 7)
    assert by_kind["alert"][0]["message"] == "Reward fell: by half"
    assert by_kind["status"][0]["progress"] == 0.5
    assert by_kind["environment"][0]["python"].startswith("CPython")
    assert [record["seq"] for record in receiver.attempt.records] == list(range(len(receiver.attempt.records)))


def test_changes_of_the_run_are_reported(start: Start, receiver: Receiver) -> None:
    run = start(config={"a": 1})
    run.config["b"] = 2
    run.summary["best"] = 0.5
    run.summary.update(words="many", ok=True)
    run.name = "later"
    run.tags = ["x", "y"]
    finish(run)
    heartbeats: dict[str, Any] = {}
    for body in receiver.attempt.heartbeats:
        heartbeats.update(body)
    reported = {**receiver.registrations[-1], **heartbeats}
    assert (reported["config"]["b"], reported["name"], reported["tags"]) == (2, "later", ["x", "y"])
    assert receiver.attempt.end is not None
    assert receiver.attempt.end["summary"] == {"best": 0.5, "words": "many", "ok": True}
    assert receiver.attempt.values("summary/best") == [0.5]


def test_silent_run_sends_heartbeats(start: Start, receiver: Receiver) -> None:
    start(lost_after_seconds=0.4)
    wait_until(lambda: receiver.attempts and len(receiver.attempt.heartbeats) >= 2, "two heartbeats")


def test_exception_ends_the_run_as_failed(start: Start, receiver: Receiver) -> None:
    with pytest.raises(ZeroDivisionError), start() as run:
        run.log({"x": 1.0 / 0})
    receiver.wait_for_end()
    assert receiver.attempt.end is not None
    assert (receiver.attempt.end["state"], receiver.attempt.end["reason"]) == (
        "failed", "ZeroDivisionError: float division by zero",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("last_line", "state", "reason"),
    [
        ("", "succeeded", ""),
        ("raise ValueError('bad batch')", "failed", "ValueError: bad batch"),
        ("raise KeyboardInterrupt", "cancelled", "interrupted from the keyboard"),
        ("run.finish(exit_code=3, reason='no memory')", "failed", "no memory"),
        ("import sys; sys.exit(2)", "failed", "SystemExit: 2"),
        ("import sys; sys.exit()", "succeeded", ""),
    ],
    ids=["end", "exception", "keyboard", "exit_code", "sys_exit_2", "sys_exit"],
)
def test_end_of_the_process_ends_the_run(
    receiver: Receiver, spools: Path, last_line: str, state: str, reason: str
) -> None:
    result = run_program(f"run = esweb_client.init(**start)\nrun.log({{'x': 1.0}})\n{last_line}", spools, receiver)
    assert receiver.attempt.end is not None, result.stderr
    assert (receiver.attempt.end["state"], receiver.attempt.end["reason"]) == (state, reason)
    assert receiver.attempt.values("x") == [1.0]


def test_second_start_of_an_id_is_another_attempt(start: Start, receiver: Receiver) -> None:
    for number in range(2):
        run = start(id="my-run")
        run.log({"x": float(number)})
        finish(run)
    assert sorted(receiver.attempts) == ["esweb-run0-a1", "esweb-run0-a2"]
    assert [receiver.attempts[key].values("x") for key in sorted(receiver.attempts)] == [[0.0], [1.0]]


def test_only_rank_0_reports(receiver: Receiver, spools: Path) -> None:
    text = (
        "with esweb_client.init(**start) as run:\n    run.log({'rank': float(os.environ['RANK'])})\n    print(run.mode)"
    )
    ranks = [run_program(text, spools, receiver, RANK=str(rank)) for rank in range(4)]
    assert [rank.stdout.split() for rank in ranks] == [[b"online"], *[[b"disabled"]] * 3]
    assert receiver.attempt.values("rank") == [0.0]


def test_token_is_in_no_file_and_no_message(receiver: Receiver, spools: Path) -> None:
    text = "with esweb_client.init(**start, config={'lr': 1}) as run:\n    run.log({'x': 1.0})\n    run.alert('t')"
    result = run_program(text, spools, receiver, ESWEB_RUN_ID="quiet")
    folder = only_spool(spools)
    secrets = [TOKEN.encode(), *(token.encode() for token in receiver.tokens)]
    contents = [file.read_bytes() for file in folder.iterdir()] + [result.stdout, result.stderr]
    assert len(contents) >= 7
    assert not [secret for secret in secrets for content in contents if secret in content]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_second_init_finishes_the_first_run(start: Start, receiver: Receiver) -> None:
    first = start(id="first")
    first.log({"x": 1.0})
    second = start(id="second")
    assert esweb_client.run is second
    finish(second)
    assert [attempt.end is not None for attempt in receiver.attempts.values()] == [True, True]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"mode": "on"}, "mode must be one of online, offline, disabled, not 'on'"),
        ({"id": "../x"}, "id must be 1 to 64 of"),
        ({"method": "GRPO"}, "method must be 1 to 20 of"),
        ({"method": "probe"}, "training method such as es, grpo or sft"),
        ({"seed": "one"}, "seed must be a whole number, not 'one'"),
        ({"lost_after_seconds": -1}, "lost_after_seconds must be a number of seconds above 0"),
    ],
    ids=["mode", "id", "method", "server_method", "seed", "lost_after"],
)
def test_setting_that_means_nothing_is_refused(setting: dict[str, Any], message: str, spools: Path) -> None:
    with pytest.raises(ValueError, match=message):
        esweb_client.init(**setting, dir=spools)
    assert not spools.exists()


def test_disabled_run_writes_nothing(spools: Path) -> None:
    with esweb_client.init(mode="disabled", dir=spools, config={"a": 1}) as run:
        run.log({"x": 1.0})
        run.log_checkpoint(spools, step=1)
        assert (run.mode, run.config.a, run.url) == ("disabled", 1, None)
    assert not spools.exists()


def test_calls_before_init_have_no_effect(capsys: pytest.CaptureFixture[str]) -> None:
    esweb_client.notices.reset_notices()
    for _ in range(3):
        esweb_client.log({"x": 1.0}, step=1)
    assert esweb_client.run is None
    assert capsys.readouterr().err == "esweb: esweb_client.log has no effect before esweb_client.init()\n"


def test_run_without_a_server_is_stored_offline(spools: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = esweb_client.init(dir=spools, capture_git=False)
    finish(run)
    assert run.mode == "offline"
    printed = capsys.readouterr().err
    assert "set ESWEB_URL and ESWEB_TOKEN, or sign in with `esweb login URL`" in printed
    assert f"`esweb sync {spools}` sends it" in printed
