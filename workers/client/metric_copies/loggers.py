"""The loggers that can receive copies of a run's metrics, their packages and the settings that switch them on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from workers.config import ConfigError, Problem, TrackingConfig

INSTALL = "requirements/install.sh loggers"
PYTHON_VARIABLE = "ESWEB_LOGGER_PYTHON"
"""Names the interpreter that has the packages of the loggers, if the training runs in another environment."""


@dataclass(frozen=True)
class Logger:
    """A logger: its name, its package, which is also its folder in the attempt's directory, and its setting."""

    name: str
    package: str
    setting: str

    def is_enabled(self, tracking: TrackingConfig) -> bool:
        """Return whether the config switches the logger on."""
        return bool(getattr(tracking, self.setting))

    def is_installed(self, python: str = sys.executable) -> bool:
        """Return whether this interpreter can import its package. A folder of the same name is no package.

        An interpreter that cannot be started has no package.
        """
        if python == sys.executable:
            spec = find_spec(self.package)
            return spec is not None and spec.origin is not None
        check = f"import importlib.util as u; spec = u.find_spec({self.package!r}); exit(not (spec and spec.origin))"
        try:
            return subprocess.run([python, "-P", "-c", check]).returncode == 0
        except OSError:
            return False


TENSORBOARD = Logger("TensorBoard", "tensorboard", "tensorboard")
WANDB = Logger("Weights & Biases", "wandb", "wandb_project")
LOGGERS = (TENSORBOARD, WANDB)


def logger_python(environment: Mapping[str, str] = os.environ) -> str:
    """Return the interpreter of the loggers: that of this process, unless the environment names another.

    A training with vLLM runs in vLLM's environment, in which the loggers are not installed.
    """
    return environment.get(PYTHON_VARIABLE) or sys.executable


def enabled_loggers(tracking: TrackingConfig) -> list[Logger]:
    """Return the loggers that the config switches on. Raise ConfigError naming each that is not installed here."""
    python = logger_python()
    enabled = [logger for logger in LOGGERS if logger.is_enabled(tracking)]
    problems = [
        Problem(f"tracking.{logger.setting}", f"needs the package {logger.package}: install it here with {INSTALL}")
        for logger in enabled
        if not logger.is_installed(python)
    ]
    if problems:
        raise ConfigError(problems)
    return enabled


def is_key_exposed(file: Path) -> bool:
    """Return whether other users of this machine can read the file of a key. Raise OSError."""
    return bool(file.stat().st_mode & 0o077)
