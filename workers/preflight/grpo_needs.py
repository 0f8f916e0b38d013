"""Needs of the trainer of GRPO: vLLM's environment, a vLLM server and DeepSpeed. Each has a sentence and a remedy."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec

from workers.config import RunConfig
from workers.config.grpo import GrpoVllmConfig
from workers.preflight.need import MISSING, OK, Need
from workers.preflight.vllm_interpreter import VLLM_PYTHON, BrokenInterpreter, missing_packages, vllm_interpreter
from workers.preflight.vllm_server import UnusableServer, check_vllm_server, start_command

VLLM_PACKAGES = ("vllm", "trl", "peft", "datasets", "accelerate")
CREATE = f"Create it with requirements/install.sh vllm, or set {VLLM_PYTHON} to the Python of another one."
INSTALL_AGAIN = "Run requirements/install.sh vllm again, or install requirements/vllm.lock into your environment."


def grpo_needs(config: RunConfig, environment: Mapping[str, str]) -> Iterator[Need]:
    """Yield what the trainer of a GRPO run needs in addition to TRL; nothing for other methods."""
    grpo = config.grpo
    if grpo is None:
        return
    python, exists = trainer_interpreter(grpo.vllm, environment)
    if grpo.vllm is not None:
        yield _environment_need(python, exists=exists)
        if grpo.vllm.mode == "server":
            yield _server_need(grpo.vllm.server, config.model.path)
    if grpo.sharding == "zero2" and exists:
        yield _packages_need(
            "DeepSpeed", python, ("deepspeed",), f"Run {python} -m pip install deepspeed, or set grpo.sharding to fsdp."
        )


def trainer_interpreter(vllm: GrpoVllmConfig | None, environment: Mapping[str, str]) -> tuple[str, bool]:
    """Return the interpreter in which a run's trainer runs, and whether it exists.

    That is this one, unless completions are generated with vLLM and this one has no vLLM.
    """
    if vllm is None or find_spec("vllm") is not None:
        return sys.executable, True
    return vllm_interpreter(environment)


def _environment_need(python: str, *, exists: bool) -> Need:
    if not exists:
        return Need("vLLM's environment", MISSING, f"{python} is no program on this machine.", CREATE)
    return _packages_need("vLLM's environment", python, VLLM_PACKAGES, INSTALL_AGAIN)


def _packages_need(name: str, python: str, packages: Sequence[str], remedy: str) -> Need:
    try:
        missing = missing_packages(python, packages)
    except BrokenInterpreter as error:
        return Need(name, MISSING, f"{error}.", CREATE)
    if missing:
        return Need(name, MISSING, f"Not installed for {python}: {', '.join(missing)}.", remedy)
    return Need(name, OK, f"Installed for {python}: {', '.join(packages)}.")


def _server_need(address: str, model: str) -> Need:
    try:
        gpus = check_vllm_server(address, model)
    except UnusableServer as error:
        return Need("vLLM server", MISSING, f"{address} {error}.", f"Start it with: {start_command(model)}")
    return Need("vLLM server", OK, f"{address} serves {model} on {gpus} GPU{'' if gpus == 1 else 's'}.")
