"""A run on a disk that is really full reports it, tears no record, and continues once there is room."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.small_disks import SmallDisk, needs_small_disk, small_disk
from tests.waiting import wait_until
from tests.workers.attempts import RUNS_LONG, agent, attempt, finish, read
from tests.workers.training_process import lines, records, run_json, train_here, weights
from workers import tasks
from workers.attempt import DISK_FULL, is_disk_full
from workers.engines.context import write_checkpoint
from workers.models.save import weights_sha256
from workers.records import Alert, Metric, RecordWriter, Status, records_path
from workers.records import read as read_records
from workers.scorer.client import ScorerFailed
from workers.tasks import Example, Score

pytestmark = needs_small_disk
ES = {"iterations": 9, "checkpoint_every": 3, "keep": "all", "population": 6, "prompts": 4}
LESS_THAN_A_CHECKPOINT = 120 * 1024
FILLS_THE_DISK = """
with open('ballast', 'ab', buffering=0) as ballast:
    try:
        while ballast.write(bytes(2**20)):
            pass
    except OSError:
        raise SystemExit(3)
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Mount a disk for the folder of runs."""
    folder = tmp_path / "runs"
    folder.mkdir()
    with small_disk(folder, 8) as mounted:
        yield mounted


def test_a_record_is_written_whole_or_not_at_all(disk: SmallDisk) -> None:
    disk.fill()
    # There is room for the beginning of a record.
    os.truncate(disk.ballast, disk.ballast.stat().st_size - 4096)
    with RecordWriter(disk.path, 0) as writer:
        for _ in range(2):
            with pytest.raises(OSError, match="No space left"):
                writer.write(Alert("info", "x" * 10_000))
        disk.make_room()
        assert writer.write(Alert("info", "there is room again")) == 0
    piece = read_records(records_path(disk.path, 0))
    assert [line.record for line in piece.lines] == [Alert("info", "there is room again")]
    assert not piece.broken


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    """Return the error as it is caught once it was raised from `cause`."""
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "is_full"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), True),
        (RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)"), True),
        (raised(ValueError("not saved"), OSError(errno.ENOSPC, "No space left on device")), True),
        (ScorerFailed("the scorer answers 500: No space left on device"), False),
        (OSError(errno.EIO, "Input/output error"), False),
    ],
    ids=["space", "quota", "told by a library", "as a cause", "on another machine", "another error"],
)
def test_full_disk_is_recognised_by_its_errors(error: BaseException, is_full: bool) -> None:
    assert is_disk_full(error) == is_full


def test_agent_records_exit_on_disk_filled_by_program(disk: SmallDisk) -> None:
    directory = attempt(disk.path / "a1", FILLS_THE_DISK)
    assert finish(agent(directory))[0] == 3
    assert disk.free_bytes() == 0
    assert read(directory / "exit.json")["code"] == 3


def test_agent_sends_heartbeats_on_full_disk(disk: SmallDisk) -> None:
    directory = attempt(disk.path / "a1", RUNS_LONG)
    with agent(directory) as process:
        try:
            wait_until((directory / "heartbeat.json").exists, "the first beat")
            disk.fill()
            beats = read(directory / "heartbeat.json")["n"]
            wait_until(lambda: read(directory / "heartbeat.json")["n"] > beats, "another beat")
        finally:
            process.terminate()
            process.communicate()
    assert read(directory / "exit.json")["stopped"]


def test_agent_on_full_disk_claims_nothing(disk: SmallDisk) -> None:
    directory = attempt(disk.path / "a1", "")
    disk.fill()
    code, errors = finish(agent(directory))
    assert (code, f"disk full: no claim can be written to {directory}" in errors) == (DISK_FULL, True)
    assert not (directory / "claim").exists()
    disk.make_room()
    assert finish(agent(directory))[0] == 0


def test_agent_without_room_for_lease_releases_claim(disk: SmallDisk) -> None:
    directory, codes = attempt(disk.path / "a1", ""), []
    disk.fill()
    # From no room at all to room for all that an agent writes: at some size the lease alone does not fit.
    while not codes or codes[-1] != 0:
        code, errors = finish(agent(directory, "--epoch", "1"))
        codes.append(code)
        assert (directory / "claim.1").exists() == (code == 0), errors
        assert (code, "disk full" in errors) in [(0, False), (DISK_FULL, True)], errors
        os.truncate(disk.ballast, disk.ballast.stat().st_size - os.statvfs(disk.path).f_bsize)
    assert len(codes) > 2, "no size was between nothing and enough"


@pytest.mark.slow
def test_training_resumes_from_checkpoint_after_full_disk(
    disk: SmallDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = run_json(tmp_path, "es-micro", es=ES, evaluation={"every": 0, "prompts": 4})
    out, straight = disk.path / "out", tmp_path / "straight"
    usual, is_full = tasks.TASKS["conciseness"], False

    class Fills(usual):  # type: ignore[misc, valid-type]
        def score(self, example: Example, completion: str) -> Score:
            nonlocal is_full
            # Equal responses are scored once, so a number of calls would not tell the step.
            if not is_full and out.exists() and [metric.step for metric in records(out, Metric)][-1:] == [4]:
                is_full = True
                disk.fill()
            return super().score(example, completion)

    assert train_here(config, straight)[0] == 0
    monkeypatch.setitem(tasks.TASKS, "conciseness", Fills)
    assert train_here(config, out)[0] == DISK_FULL
    assert records_path(out, 0).read_bytes().endswith(b"\n"), "a part of a record was left"
    assert records(out, Metric)[-1].step in (4, 5), "what little room the last page has, the fifth may take"
    assert [path.name for path in (out / "checkpoints").iterdir()] == ["step-000003"]
    assert train_here(config, out)[0] == DISK_FULL, "it cannot even say what it runs on"
    assert not lines(out, 1)
    disk.make_room()
    assert train_here(config, out)[0] == 0
    assert weights(out, 2) == {step: sha256 for step, sha256 in weights(straight).items() if step > 3}
    for step, sha256 in weights(out, 0).items():
        assert weights_sha256(out / "checkpoints" / f"step-{step:06d}") == sha256


@pytest.mark.slow
def test_checkpoint_without_room_leaves_only_reason(disk: SmallDisk, tmp_path: Path) -> None:
    config, out = run_json(tmp_path, "es-micro", es=ES, evaluation={"every": 0, "prompts": 4}), disk.path / "out"
    disk.ballast.write_bytes(bytes(disk.free_bytes() - LESS_THAN_A_CHECKPOINT))
    assert train_here(config, out)[0] == DISK_FULL
    assert not [*(out / "checkpoints").iterdir()]
    failed = records(out, Status)[-1]
    assert (failed.phase, failed.message.startswith(f"disk full: {out}")) == ("failed", True), failed


def test_failed_torch_save_is_reported_as_full_disk(disk: SmallDisk) -> None:
    class Tiny:
        def save_pretrained(self, folder: Path) -> None:
            (folder / "config.json").write_text("{}")

    def more(folder: Path) -> None:
        torch.save({"weights": torch.zeros(disk.free_bytes())}, folder / "optimizer.pt")

    final = disk.path / "checkpoints" / "step-000001"
    with pytest.raises(OSError, match="No space left on device"):
        write_checkpoint(final, Tiny(), Tiny(), more)  # type: ignore[arg-type]
    assert not [*final.parent.iterdir()]
