"""Begins or resumes a run with es.backend vllm."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from workers.config import ConfigError, EsConfig, Problem
from workers.engines.context import Context
from workers.engines.es.batches import BatchPlan
from workers.engines.es.engine_group import EngineProcess, EngineSetup
from workers.engines.es.perturbation import scales_of
from workers.engines.es.replay_log import FILE
from workers.engines.es.startup import (
    VISIBLE,
    begin_state,
    count_prompts,
    devices_of,
    longest_prompt,
    training_config,
)
from workers.engines.es.state import State
from workers.engines.es.vllm.setup import ENVIRONMENT, VllmSetup
from workers.engines.es.vllm_group.engine_weights import EngineWeights
from workers.engines.es.vllm_group.environment import vllm_python
from workers.engines.es.vllm_group.group import VllmGroup
from workers.engines.es.vllm_group.memory import NO_KL, Sizes, VllmMemory, plan_memory
from workers.engines.es.vllm_group.mps import MpsDaemon
from workers.memory_plan import ModelSizes
from workers.models.decoder.decoder import end_tokens

PROGRAM = "workers.engines.es.vllm.program"
SCRATCH = ".centre"
"""Folder in the attempt's directory through which the weights of the centre come here."""


NO_MPS = (
    "several engines share a GPU, which serves one at a time: CUDA's Multi-Process Service could not be started here "
    "({reason}). With it, a member takes about two thirds of the time"
)


@dataclass
class BaseWeights:
    """The parameters of the model in the machine's memory: names, shapes and scales. Only engines change weights."""

    master: dict[str, Tensor]

    def noise_scales(self, relative: bool) -> dict[str, float]:
        """Return the scale of each tensor's noise."""
        return scales_of(self.master, relative)

    def load(self, folder: Path) -> None:
        """Do nothing: engines load the checkpoint themselves."""


def start_vllm(context: Context) -> tuple[EngineWeights, State, VllmGroup]:
    """Return the weights, state and engines of a run, which have not started yet. Raise ConfigError, NotResumable."""
    es, loaded = context.config.es_section(), context.loaded
    python = vllm_python()
    names = dict(loaded.model.named_parameters())
    # Each engine answers one member after another, all of its prompts together.
    state = begin_state(context, BaseWeights(names), es, lambda _: count_prompts(context, es))
    plan = BatchPlan(state.rows, members=1)
    groups = _gpu_groups(context)
    memory, setup = _plan(context, es, names, len(groups))
    plan_text = memory.describe(es.vllm.tensor_parallel)
    print(plan_text, flush=True)
    context.alert("info", plan_text, state.step)
    count = es.engines or memory.engines * len(groups)
    _place_models(context, state, with_kl=memory.with_kl)
    threads = max(1, context.config.compute.cores // count)
    start = EngineSetup(
        training_config(context), plan, state.origin.scales, state.origin.lineage(), context.directory / FILE, threads,
        setup,
    )  # fmt: skip
    devices = [f"cuda:{gpus}" if gpus else "cpu" for gpus in groups]
    mps = _start_mps(context, groups, state) if count > len(groups) else None
    start_process = partial(_start_process, python, groups, mps.environment if mps else {})
    group = VllmGroup(plan, devices, start, count, start_process, loaded.tokenizer, set(setup.ends), mps)
    weights = EngineWeights(group, loaded, context.directory / SCRATCH, setup.context_tokens, with_kl=memory.with_kl)
    return weights, state, group


def _plan(
    context: Context, es: EsConfig, parameters: Mapping[str, Tensor], gpu_groups: int
) -> tuple[VllmMemory, VllmSetup]:
    """Return the plan of each GPU, and the settings of each engine. Raise ConfigError if a GPU is too small."""
    loaded, tokens = context.loaded, _context_tokens(context, es)
    evaluation = context.config.evaluation
    answered = es.rows or max(count_prompts(context, es), evaluation.prompts * max(1, evaluation.samples))
    engines = -(-es.engines // gpu_groups)
    sizes = _sizes(context, parameters)
    if loaded.device.type == "cuda":
        card = int(torch.cuda.get_device_properties(loaded.device).total_memory)
        memory = plan_memory(sizes, es, card=card, per_gpu=engines, prompts=answered, context_tokens=tokens)
    else:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        memory = plan_memory(sizes, es, card=machine, per_gpu=engines or 1, prompts=answered, context_tokens=tokens)
    ends = tuple(end_tokens(loaded.model, loaded.tokenizer).tolist())
    dtype = str(loaded.dtype).removeprefix("torch.")
    return memory, VllmSetup(
        tuple(parameters), dtype, tuple(end for end in ends if end >= 0), tokens, memory.rows, memory.kv_cache_bytes,
        memory.master_on_host, es.vllm.tensor_parallel,
    )  # fmt: skip


def _sizes(context: Context, parameters: Mapping[str, Tensor]) -> Sizes:
    """Return the sizes of the model. An architecture without the usual sizes is planned as if all heads had keys."""
    config, number = context.loaded.model.config.to_dict(), context.loaded.dtype.itemsize
    count = sum(parameter.numel() for parameter in parameters.values())
    try:
        sizes = ModelSizes.of_config(config, number)
        token = 2 * sizes.layers * sizes.kv_heads * sizes.head_dim * number
    except KeyError:
        embedding = context.loaded.model.get_input_embeddings().weight
        token = 2 * int(config.get("num_hidden_layers") or config.get("n_layer") or 1) * embedding.shape[1] * number
    return Sizes(number * count, 4 * count, token, int(context.loaded.model.config.vocab_size))


def _context_tokens(context: Context, es: EsConfig) -> int:
    """Return the tokens of the longest prompt and the longest response, in training or evaluation."""
    return longest_prompt(context) + max(es.max_new_tokens, context.config.evaluation.max_new_tokens)


def _gpu_groups(context: Context) -> list[str]:
    """Return the GPUs of each engine, as CUDA_VISIBLE_DEVICES names them; one empty text on a CPU.

    Raise ConfigError if an engine needs more GPUs than there are.
    """
    devices, size = devices_of(context), context.config.es_section().vllm.tensor_parallel
    if devices == ["cpu"]:
        return [""]
    visible = (os.environ.get(VISIBLE) or ",".join(d.removeprefix("cuda:") for d in devices)).split(",")
    gpus = visible[: len(devices)]
    if len(gpus) < size:
        reason = f"must be at most {len(gpus)}, the GPUs of this run, not {size}"
        raise ConfigError([Problem("es.vllm.tensor_parallel", reason)])
    return [",".join(gpus[first : first + size]) for first in range(0, len(gpus) // size * size, size)]


def _place_models(context: Context, state: State, *, with_kl: bool) -> None:
    """Put the model and its base where the KL is computed, or drop the base and record that there is no KL."""
    if with_kl:
        context.evaluator.to(context.loaded.device)
        context.loaded.model.to(context.loaded.device)
    else:
        context.evaluator.drop_base()
        context.alert("warning", NO_KL, state.step)


def _start_mps(context: Context, groups: list[str], state: State) -> MpsDaemon | None:
    """Start the service by which engines share their GPUs, if the config and the machine allow it."""
    gpus = ",".join(groups)
    if not gpus or context.config.es_section().vllm.mps == "off":
        return None
    try:
        return MpsDaemon(gpus)
    except OSError as error:
        context.alert("info", NO_MPS.format(reason=error.strerror or error), state.step)
        return None


def _start_process(python: str, groups: list[str], sharing: dict[str, str], number: int) -> EngineProcess:
    """Start an engine's process, which sees its own GPUs alone. `sharing` is the environment of their service."""
    gpus = groups[number % len(groups)]
    return EngineProcess(ENVIRONMENT | sharing | ({VISIBLE: gpus} if gpus else {}), python, PROGRAM)
