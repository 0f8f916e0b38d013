"""Needs of the trainer of GRPO: vLLM's environment, a vLLM server and DeepSpeed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.workers.preflight.interpreters import make_interpreter, make_program
from tests.workers.preflight.vllm_servers import MODEL, routes_of, serve
from workers.config import RunConfig
from workers.preflight import Need
from workers.preflight.grpo_needs import VLLM_PACKAGES, grpo_needs

without_vllm = pytest.mark.skipif(find_spec("vllm") is not None, reason="this interpreter has vLLM")


def needs_of(python: str = "", gpus: int = 1, **grpo: Any) -> dict[str, Need]:
    """Return name -> need of a GRPO run with these settings and this interpreter of vLLM's environment."""
    batch = {"per_device_train_batch_size": 8, "num_generations": 8}
    data = {"method": "grpo", "model": {"path": MODEL}, "compute": {"gpus": gpus}, "grpo": batch | grpo}
    environment = {"ESWEB_VLLM_PYTHON": python} if python else {}
    return {need.name: need for need in grpo_needs(RunConfig.from_json(data), environment)}


def test_run_without_vllm_has_no_further_needs() -> None:
    assert needs_of() == {}


def test_other_methods_have_no_such_needs() -> None:
    assert list(grpo_needs(RunConfig.from_json({"method": "es", "es": {"backend": "vllm"}}), {})) == []


@without_vllm
def test_environment_with_all_packages_is_enough(tmp_path: Path) -> None:
    need = needs_of(make_interpreter(tmp_path, *VLLM_PACKAGES), vllm={})["vLLM's environment"]

    assert need.state == "ok" and str(tmp_path) in need.sentence


@without_vllm
def test_absent_environment_is_missing(tmp_path: Path) -> None:
    need = needs_of(str(tmp_path / "python"), vllm={})["vLLM's environment"]

    assert need.state == "missing" and "is no program" in need.sentence
    assert "requirements/install.sh vllm" in need.remedy and "ESWEB_VLLM_PYTHON" in need.remedy


@without_vllm
def test_environment_of_engines_alone_lacks_trl(tmp_path: Path) -> None:
    need = needs_of(make_interpreter(tmp_path, "vllm"), vllm={})["vLLM's environment"]

    assert need.state == "missing" and need.sentence.endswith(": trl, peft, datasets, accelerate.")
    assert "requirements/vllm.lock" in need.remedy


@without_vllm
@pytest.mark.parametrize("script", ["echo broken >&2; exit 3", "echo hello"])
def test_program_that_is_no_python_is_missing(tmp_path: Path, script: str) -> None:
    need = needs_of(make_program(tmp_path / "python", script), vllm={})["vLLM's environment"]

    assert need.state == "missing" and "is no Python that runs" in need.sentence


@without_vllm
def test_server_that_answers_meets_the_need(tmp_path: Path) -> None:
    python = make_interpreter(tmp_path, *VLLM_PACKAGES)
    with serve(routes_of()) as address:
        need = needs_of(python, vllm={"mode": "server", "server": address})["vLLM server"]

    assert need.state == "ok" and need.sentence == f"{address} serves {MODEL} on 2 GPUs."


@without_vllm
def test_refused_server_comes_with_the_command_that_starts_one(tmp_path: Path) -> None:
    python = make_interpreter(tmp_path, *VLLM_PACKAGES)
    with serve(routes_of(transfer={})) as address:
        need = needs_of(python, vllm={"mode": "server", "server": address})["vLLM server"]

    assert need.state == "missing" and f"serve {MODEL}" in need.remedy


@without_vllm
@pytest.mark.parametrize(("packages", "state"), [((), "missing"), (("deepspeed",), "ok")])
def test_zero2_needs_deepspeed_where_the_trainer_runs(tmp_path: Path, packages: tuple[str, ...], state: str) -> None:
    python = make_interpreter(tmp_path, *VLLM_PACKAGES, *packages)
    need = needs_of(python, gpus=2, vllm={}, sharding="zero2")["DeepSpeed"]

    assert need.state == state and python in need.sentence


def test_zero2_without_vllm_needs_deepspeed_in_this_interpreter() -> None:
    state = "ok" if find_spec("deepspeed") else "missing"

    assert needs_of(gpus=2, sharding="zero2")["DeepSpeed"].state == state
