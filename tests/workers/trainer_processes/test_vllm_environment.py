"""The interpreter of a GRPO trainer, and the check of its vLLM server before the training."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.workers.preflight.interpreters import make_interpreter
from tests.workers.preflight.vllm_servers import MODEL, routes_of, serve
from workers.config import ConfigError, RunConfig
from workers.trainer_processes.vllm_environment import check_server, trainer_python

without_vllm = pytest.mark.skipif(find_spec("vllm") is not None, reason="this interpreter has vLLM")


def run_config(vllm: dict[str, Any] | None) -> RunConfig:
    return RunConfig.from_json(
        {"method": "grpo", "model": {"path": MODEL}, "compute": {"gpus": 1}, "grpo": {"vllm": vllm}}
    )


def test_trainer_without_vllm_runs_in_this_interpreter(tmp_path: Path) -> None:
    environment = {"ESWEB_VLLM_PYTHON": make_interpreter(tmp_path, "vllm")}

    assert trainer_python(run_config(None), environment) == sys.executable


@without_vllm
def test_trainer_with_vllm_runs_in_its_environment(tmp_path: Path) -> None:
    python = make_interpreter(tmp_path, "vllm")

    assert trainer_python(run_config({}), {"ESWEB_VLLM_PYTHON": python}) == python


def test_interpreter_that_has_vllm_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)

    assert trainer_python(run_config({}), {"ESWEB_VLLM_PYTHON": str(tmp_path / "python")}) == sys.executable


@without_vllm
def test_absent_environment_is_refused_by_name(tmp_path: Path) -> None:
    environment = {"ESWEB_VLLM_PYTHON": str(tmp_path / "python")}

    with pytest.raises(
        ConfigError, match=r"^grpo\.vllm: needs .*ESWEB_VLLM_PYTHON names .*requirements/install\.sh vllm"
    ):
        trainer_python(run_config({}), environment)


def test_usable_server_is_accepted() -> None:
    with serve(routes_of()) as address:
        check_server(run_config({"mode": "server", "server": address}))


def test_unusable_server_is_refused_with_a_command() -> None:
    with serve(routes_of(logprobs_mode="raw_logprobs")) as address, pytest.raises(ConfigError) as caught:
        check_server(run_config({"mode": "server", "server": address}))

    text = str(caught.value)
    assert text.startswith(f"grpo.vllm.server: is {address}, which returns raw_logprobs")
    assert f"VLLM_SERVER_DEV_MODE=1 .venv-vllm/bin/vllm serve {MODEL}" in text


@pytest.mark.parametrize("vllm", [None, {}])
def test_run_without_server_calls_none(vllm: dict[str, Any] | None) -> None:
    check_server(run_config(vllm))
