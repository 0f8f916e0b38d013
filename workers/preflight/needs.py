"""Everything that must be on a machine before a run can start there, and what to do about what is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from workers.config import ConfigError, RunConfig
from workers.config.resources import is_started_by_site, locate, resources
from workers.config.run import ComputeConfig
from workers.preflight.connections import adapter_server_need, scorer_need
from workers.preflight.grpo_needs import grpo_needs
from workers.preflight.loggers import logger_needs
from workers.preflight.model_needs import model_needs
from workers.preflight.need import MISSING, OK, UNKNOWN, Need
from workers.preflight.vllm_interpreter import VLLM_PYTHON, vllm_interpreter

TRAINING_PACKAGES = ("torch", "transformers")
TRL_PACKAGES = ("trl", "peft", "datasets", "accelerate")
SCHEDULERS = {"Slurm": "SLURM_JOB_NODELIST", "Ray": "RAY_ADDRESS"}
"""Scheduler -> a variable that it sets in its jobs."""
INSTALL = "Install it with requirements/install.sh train."


def check_needs(config: RunConfig, gpus: int | None, environment: Mapping[str, str] = os.environ) -> list[Need]:
    """Return the needs of a run on this machine. `gpus`: its GPUs; None if the run will be on another machine."""
    return [
        *_node_needs(config, environment),
        *_gpu_needs(config, gpus),
        *_package_needs(config, environment),
        *model_needs(config, environment),
        *_file_needs(config, environment),
        *scorer_need(config),
        *adapter_server_need(config),
        *grpo_needs(config, environment),
        *logger_needs(config, environment),
    ]


def _node_needs(config: RunConfig, environment: Mapping[str, str]) -> Iterator[Need]:
    """Yield whether this is a job of a cluster, which alone can start engines on other nodes."""
    nodes = config.compute.nodes
    if nodes == 1:
        return
    for scheduler, variable in SCHEDULERS.items():
        if variable in environment:
            yield Need("Nodes", OK, f"This is a job of {scheduler}, which has the other nodes of the run.")
            return
    sentence = f"The run needs {nodes} nodes of a Slurm or Ray cluster, and this process is in no job of one."
    yield Need("Nodes", UNKNOWN, sentence, "Launch it on a cluster, or check it again in its job.")


def _gpu_needs(config: RunConfig, gpus: int | None) -> Iterator[Need]:
    compute = config.compute
    required = max(compute.devices, int(config.model.device == "cuda"))
    if not required:
        return
    nodes = f" on each of {compute.nodes} nodes" if compute.nodes > 1 else ""
    if gpus is None:
        yield Need("GPUs", UNKNOWN, f"The run needs {_count(required, 'GPU')}{nodes}, on another machine.")
    elif gpus >= required:
        amount = describe_share(compute) or f"{required}{nodes}"
        yield Need("GPUs", OK, f"This machine has {_count(gpus, 'GPU')}; the run needs {amount}.")
    else:
        yield Need(
            "GPUs",
            MISSING,
            f"The run needs {_count(required, 'GPU')}{nodes}, and this machine has {gpus}.",
            "Set compute.gpus to 0, or run it on a machine with GPUs; to check a config for one, give its --card.",
        )


def describe_share(compute: ComputeConfig) -> str:
    """Return the share of a GPU that a run requests, in words; an empty text for whole GPUs or none."""
    if not compute.shares_gpu:
        return ""
    return "a part of one" if compute.gpu_share is None else f"{compute.gpu_share:g} of one"


def _package_needs(config: RunConfig, environment: Mapping[str, str]) -> Iterator[Need]:
    if config.needs_torch:
        yield _packages("Training packages", TRAINING_PACKAGES)
    if config.grpo is not None and config.grpo.vllm is None:
        yield _packages("TRL", TRL_PACKAGES)
    if config.es is None:
        return
    if config.es.backend == "vllm":
        yield _vllm_need(environment)
    if config.es.backend == "native" and config.compute.devices and config.model.device != "cpu":
        if find_spec("triton") is not None:
            yield Need("Triton", OK, "Triton is installed: members answer by captured steps.")
        else:
            yield Need(
                "Triton",
                MISSING,
                "Triton is not installed here, so members would answer one step at a time, without CUDA graphs.",
                "Install torch for GPUs, which brings Triton: see requirements/README.md.",
            )


def _packages(name: str, packages: Sequence[str]) -> Need:
    missing = [package for package in packages if find_spec(package) is None]
    listed = ", ".join(missing or packages)
    if missing:
        return Need(name, MISSING, f"Not installed here: {listed}.", INSTALL)
    return Need(name, OK, f"Installed: {listed}.")


def _vllm_need(environment: Mapping[str, str]) -> Need:
    python, exists = vllm_interpreter(environment)
    if exists:
        return Need("vLLM's environment", OK, f"Its interpreter is {python}.")
    remedy = f"Create it with make setup VLLM=1, or set {VLLM_PYTHON} to the Python of another one."
    return Need("vLLM's environment", MISSING, f"{python} is no program on this machine.", remedy)


def _file_needs(config: RunConfig, environment: Mapping[str, str]) -> Iterator[Need]:
    """Yield whether the files of the task are there. The names of a site's run are looked up in its folders."""
    named = [resource for resource in resources(config) if resource.kind == "data" and resource.value]
    if not named:
        return
    try:
        located = {r.path: r.value for r in resources(locate(config, environment)) if r.kind == "data"}
    except ConfigError as error:
        for problem in error.problems:
            if problem.path != "model.path":
                yield Need("Data", MISSING, f"{problem.path} {problem.message}.")
        return
    for resource in named:
        path = Path(located[resource.path])
        if path.is_file():
            yield Need("Data", OK, f"{resource.path} is {path}.")
        else:
            where = "in the allowed folders" if is_started_by_site(environment) else "on this machine"
            remedy = f"Give a file that exists; relative paths start in {Path.cwd()}."
            yield Need("Data", MISSING, f"{resource.path} names {path}, which is no file {where}.", remedy)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
