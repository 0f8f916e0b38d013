"""Choose the interpreter of a GRPO trainer, and refuse a vLLM server that cannot generate for it. No torch."""

from __future__ import annotations

import os
from collections.abc import Mapping

from workers.config import ConfigError, Problem, RunConfig
from workers.preflight.grpo_needs import trainer_interpreter
from workers.preflight.vllm_interpreter import VLLM_PYTHON
from workers.preflight.vllm_server import UnusableServer, check_vllm_server, start_command


def trainer_python(config: RunConfig, environment: Mapping[str, str] = os.environ) -> str:
    """Return the interpreter in which this run's trainer must run: this one, unless grpo.vllm needs vLLM's environment.

    Raise ConfigError if there is no such environment.
    """
    python, exists = trainer_interpreter(config.grpo.vllm if config.grpo else None, environment)
    if exists:
        return python
    program = f"{VLLM_PYTHON} names {python}, which is" if environment.get(VLLM_PYTHON) else f"{python} is"
    reason = (
        f"needs vLLM's environment, but {program} no program on this machine. Create it with requirements/install.sh "
        f"vllm, or set {VLLM_PYTHON} to the Python of another one; or set grpo.vllm to null"
    )
    raise ConfigError([Problem("grpo.vllm", reason)])


def check_server(config: RunConfig) -> None:
    """Raise ConfigError if the run generates with a vLLM server that cannot do it. Call it before training begins."""
    vllm = config.grpo.vllm if config.grpo else None
    if vllm is None or vllm.mode != "server":
        return
    try:
        check_vllm_server(vllm.server, config.model.path)
    except UnusableServer as error:
        reason = f"is {vllm.server}, which {error}. Start a server with: {start_command(config.model.path)}"
        raise ConfigError([Problem("grpo.vllm.server", reason)]) from error
