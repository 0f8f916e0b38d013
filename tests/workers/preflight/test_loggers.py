"""Needs of the loggers: a package, and a key for Weights & Biases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.workers.client.metric_copies.copied_runs import NEEDS_LOGGERS
from workers.config import RunConfig
from workers.preflight.loggers import KEY_NAME, logger_needs
from workers.preflight.need import Need

ONLINE = {"wandb_project": "tests"}


def needs_of(tracking: dict[str, Any], **environment: str) -> dict[str, Need]:
    """Return name -> need of an ES run with these settings of `tracking`."""
    config = RunConfig.from_json({"method": "es", "es": {}, "tracking": tracking})
    return {need.name: need for need in logger_needs(config, {"NETRC": "/none", **environment})}


def test_run_without_loggers_has_no_needs() -> None:
    assert needs_of({}) == {}


@NEEDS_LOGGERS
def test_installed_loggers_are_named() -> None:
    needs = needs_of({"tensorboard": True, **ONLINE, "wandb_mode": "offline"})
    assert {name: need.state for name, need in needs.items()} == {"TensorBoard": "ok", "Weights & Biases": "ok"}


def test_online_run_needs_a_key() -> None:
    need = needs_of(ONLINE)[KEY_NAME]
    assert need.state == "missing" and "api.wandb.ai" in need.sentence and "wandb login" in need.remedy
    assert needs_of(ONLINE, WANDB_API_KEY="x")[KEY_NAME].state == "ok"


def test_login_for_the_server_is_a_key(tmp_path: Path) -> None:
    login = tmp_path / "netrc"
    login.write_text("machine wandb.example\n  login user\n  password secret\n")
    assert needs_of(ONLINE, NETRC=str(login), WANDB_BASE_URL="https://wandb.example")[KEY_NAME].state == "ok"
    assert needs_of(ONLINE, NETRC=str(login))[KEY_NAME].state == "missing"


def test_key_file_must_hold_a_key(tmp_path: Path) -> None:
    file = tmp_path / "key"
    tracking = {**ONLINE, "wandb_key_file": str(file)}
    assert needs_of(tracking)[KEY_NAME].state == "missing"
    file.write_text("two words")
    assert needs_of(tracking)[KEY_NAME].state == "missing"
    file.write_text("0123456789abcdef")
    file.chmod(0o644)
    assert "chmod 600" in needs_of(tracking)[KEY_NAME].remedy
    file.chmod(0o600)
    assert needs_of(tracking)[KEY_NAME] == Need(KEY_NAME, "ok", f"It is in {file}.")
