"""The environment of a training is its first record; code other than the pinned code is reported, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workers.training_process import lines, records, run_json, train
from workers.code import fingerprint
from workers.records import Alert, Environment, Status
from workers.train import BAD_CONFIG, main

OTHER = "0" * 64


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config that would train, with a model that is not there: it is seen before it is loaded."""
    return run_json(tmp_path, "es-micro", model={"path": str(tmp_path / "no-model")})


@pytest.mark.usefixtures("restored_signals")
def test_first_record_is_environment_with_code(config: Path, tmp_path: Path) -> None:
    main([str(config), "--out", str(tmp_path / "out"), "--code", fingerprint()])
    first = lines(tmp_path / "out")[0].record
    assert isinstance(first, Environment)
    assert first.code == fingerprint() and first.node and first.packages
    assert not records(tmp_path / "out", Alert)


@pytest.mark.usefixtures("restored_signals")
def test_other_code_is_a_warning(config: Path, tmp_path: Path) -> None:
    main([str(config), "--out", str(tmp_path / "out"), "--code", OTHER])
    (alert,) = records(tmp_path / "out", Alert)
    assert alert.level == "warning"
    assert f"launched with: that was {OTHER[:12]}, here lies {fingerprint()[:12]}" in alert.message
    assert "no-model" in records(tmp_path / "out", Status)[-1].message


def test_other_code_is_refused_on_request(config: Path, tmp_path: Path) -> None:
    done = train(config, tmp_path / "out", "--code", OTHER, "--other-code", "refuse", is_fork=True)
    assert done.returncode == BAD_CONFIG
    assert [type(line.record) for line in lines(tmp_path / "out")] == [Environment, Status]
    message = records(tmp_path / "out", Status)[-1].message
    assert message == done.stderr.strip()
    assert "not the code" in message and "set other_code to warn" in message
