"""The packages of the loggers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from workers.client.metric_copies.loggers import LOGGERS, Logger, enabled_loggers
from workers.config import ConfigError, TrackingConfig


def test_loggers_are_off_by_default() -> None:
    assert enabled_loggers(TrackingConfig()) == []


def test_missing_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the name of the package, such as the library itself creates, is no package."""
    missing = Logger("Test", "no_such_logger_package", "tensorboard")
    monkeypatch.setattr("workers.client.metric_copies.loggers.LOGGERS", (missing, *LOGGERS[1:]))
    with pytest.raises(ConfigError, match=r"tracking\.tensorboard.*requirements/install\.sh loggers"):
        enabled_loggers(TrackingConfig(tensorboard=True))


def test_folder_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wandb_test_folder").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not Logger("Test", "wandb_test_folder", "wandb_project").is_installed()


def test_other_interpreter_is_checked_by_starting_it(tmp_path: Path) -> None:
    """The link has the packages of no environment, so that only the standard library is there."""
    python = tmp_path / "python"
    python.symlink_to(Path(sys.executable).resolve())
    assert Logger("Test", "json", "tensorboard").is_installed(str(python))
    assert not Logger("Test", "no_such_logger_package", "tensorboard").is_installed(str(python))
    assert not Logger("Test", "json", "tensorboard").is_installed(str(tmp_path / "none"))
