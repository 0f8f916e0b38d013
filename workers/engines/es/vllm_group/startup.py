"""Begins or resumes a run with es.backend vllm."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from workers.config import ConfigError, EsConfig, Problem
from workers.engine_nodes.job_nodes import start_nodes
from workers.engine_nodes.links import EngineCommand
from workers.engine_nodes.processes import name_gpus
from workers.engines.context import Context
from workers.engines.es.batches import BatchPlan
from workers.engines.es.engine_group import EnginePlace, EngineSetup, EngineStarter, places_of
from workers.engines.es.perturbation import scales_of
from workers.engines.es.replay_log import FILE
from workers.engines.es.startup import (
    begin_state,
    count_gpus,
    count_prompts,
    count_threads,
    longest_prompt,
    training_config,
)
from workers.engines.es.state import State
from workers.engines.es.vllm.setup import ENVIRONMENT, VllmSetup
from workers.engines.es.vllm_group.engine_weights import EngineWeights
from workers.engines.es.vllm_group.group import VllmGroup
from workers.gpus.mps import MpsDaemon
from workers.memory_plan import CardPlan, ModelSizes
from workers.memory_plan.vllm import NO_KL, Sizes, plan_memory
from workers.models.decoder.decoder import end_tokens
from workers.preflight.vllm_interpreter import VLLM_PYTHON, vllm_interpreter

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
    places = places_of(groups, context.config.compute.nodes)
    memory, setup = _plan(context, es, names, len(places))
    print(memory.summary, flush=True)
    context.alert("info", memory.summary, state.step)
    count = es.engines or memory.engines * len(places)
    _place_models(context, state, with_kl=memory.with_kl)
    start = EngineSetup(
        training_config(context), plan, state.origin.scales, state.origin.lineage(), context.directory / FILE,
        count_threads(context, count), setup,
    )  # fmt: skip
    shares_gpus = count > len(places) and groups != [()] and es.vllm.mps == "auto"
    mps = _start_mps(context, groups, state) if shares_gpus else None

    def command(place: EnginePlace) -> EngineCommand:
        return EngineCommand(python, PROGRAM, ENVIRONMENT, place.gpus, shares_gpus)

    nodes = start_nodes(context.directory, context.config.compute)
    starter = EngineStarter(places, command, nodes, mps.environment if mps else None)
    group = VllmGroup(plan, starter, start, count, loaded.tokenizer, set(setup.ends), mps)
    weights = EngineWeights(group, loaded, context.directory / SCRATCH, setup.context_tokens, with_kl=memory.with_kl)
    return weights, state, group


def vllm_python(environment: Mapping[str, str] = os.environ) -> str:
    """Return the interpreter of vLLM's environment. Raise ConfigError if there is none."""
    python, exists = vllm_interpreter(environment)
    if exists:
        return python
    place = f"{VLLM_PYTHON} names {python}, which is" if environment.get(VLLM_PYTHON) else f"{python} is"
    reason = (
        f"is vllm, but {place} no program on this machine. Create vLLM's environment with make setup VLLM=1, or set "
        f"{VLLM_PYTHON} to the Python of another one; or set es.backend to native or transformers"
    )
    raise ConfigError([Problem("es.backend", reason)])


def _plan(
    context: Context, es: EsConfig, parameters: Mapping[str, Tensor], gpu_groups: int
) -> tuple[CardPlan, VllmSetup]:
    """Return the plan of each GPU, and the settings of each engine. Raise ConfigError if a GPU is too small."""
    loaded, tokens = context.loaded, _context_tokens(context, es)
    evaluation = context.config.evaluation
    answered = es.rows or max(count_prompts(context, es), evaluation.prompts * max(1, evaluation.samples))
    engines = -(-es.engines // gpu_groups)
    sizes = _sizes(context, parameters)
    if loaded.device.type == "cuda":
        card = int(torch.cuda.get_device_properties(loaded.device).total_memory)
    else:
        card, engines = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), engines or 1
    memory = plan_memory(sizes, es, card=card, per_gpu=engines, prompts=answered, context_tokens=tokens)
    if not memory.fits:
        raise ConfigError([Problem("es.backend", memory.reason)])
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
        token = ModelSizes.from_config(config, number).token_bytes
    except KeyError:
        embedding = context.loaded.model.get_input_embeddings().weight
        token = 2 * int(config.get("num_hidden_layers") or config.get("n_layer") or 1) * embedding.shape[1] * number
    return Sizes(number * count, 4 * count, token, int(context.loaded.model.config.vocab_size))


def _context_tokens(context: Context, es: EsConfig) -> int:
    """Return the tokens of the longest prompt and the longest response, in training or evaluation."""
    return longest_prompt(context) + max(es.max_new_tokens, context.config.evaluation.max_new_tokens)


def _gpu_groups(context: Context) -> list[tuple[int, ...]]:
    """Return the numbers of the GPUs of each engine on a node; one group without GPUs on a CPU.

    Raise ConfigError if an engine needs more GPUs than a node has.
    """
    gpus, size = count_gpus(context), context.config.es_section().vllm.tensor_parallel
    if not gpus:
        return [()]
    if gpus < size:
        reason = f"must be at most {gpus}, the GPUs of this run on each node, not {size}"
        raise ConfigError([Problem("es.vllm.tensor_parallel", reason)])
    return [tuple(range(first, first + size)) for first in range(0, gpus // size * size, size)]


def _place_models(context: Context, state: State, *, with_kl: bool) -> None:
    """Put the model and its base where the KL is computed, or drop the base and record that there is no KL."""
    if with_kl:
        context.evaluator.to(context.loaded.device)
        context.loaded.model.to(context.loaded.device)
    else:
        context.evaluator.drop_base()
        context.alert("warning", NO_KL, state.step)


def _start_mps(context: Context, groups: Sequence[tuple[int, ...]], state: State) -> MpsDaemon | None:
    """Start the service by which engines share the GPUs of this node, if the machine allows it."""
    try:
        return MpsDaemon(",".join(name_gpus([gpu for group in groups for gpu in group])))
    except OSError as error:
        context.alert("info", NO_MPS.format(reason=error.strerror or error), state.step)
        return None
