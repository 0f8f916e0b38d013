"""Start of a training: check the decoder, make a fresh state or load a checkpoint's, and start the engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from workers.config import ConfigError, EsConfig, Problem
from workers.engine_nodes.job_nodes import start_nodes
from workers.engines.context import Context
from workers.engines.es.adapter_server import connect_server
from workers.engines.es.backend import DecoderBackEnd
from workers.engines.es.batches import BatchPlan, choose_rows
from workers.engines.es.captured_plan import batches_of, plan_on_card, uses_captured_steps
from workers.engines.es.engine_group import EngineGroup, EngineSetup, EngineStarter
from workers.engines.es.lineage import Origin
from workers.engines.es.lora import lora_origin
from workers.engines.es.member_memory import MemberMemory
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.replay_history import stored_rows
from workers.engines.es.replay_log import FILE
from workers.engines.es.state import State
from workers.engines.es.trainable import TrainableWeights
from workers.engines.not_resumable import NotResumable
from workers.memory_plan import CardPlan, describe_plan
from workers.models.decoder import Decoder, unknown_reason
from workers.models.logits_check import LastLogits, LogitsDiffer, check_once
from workers.models.save import weights_sha256

ENGINE_SECTIONS = ("method", "seed", "es", "model", "compute")
DIFFERS = (
    "is native, and in a comparison of its first layers with the model's class in transformers {reason}. Set it to "
    "transformers, which decodes one member after another"
)


def check_decoder(context: Context, es: EsConfig) -> None:
    """Compare what is to answer with transformers. Raise ConfigError if their logits differ by more than rounding."""
    loaded = context.loaded
    if es.backend != "native" or unknown_reason(loaded.model.config) is not None:
        return
    name, make = _answering_decoder(context, es)
    try:
        difference = check_once(name, loaded.model, make)
    except LogitsDiffer as error:
        raise ConfigError([Problem("es.backend", DIFFERS.format(reason=error))]) from error
    print(f"largest difference of the {name}'s logits from transformers': {difference.largest:.1e}", flush=True)


def _answering_decoder(context: Context, es: EsConfig) -> tuple[str, Callable[[Any], LastLogits]]:
    """Return the name of the decoder that answers on this device, and what makes its logits from a model."""
    if uses_captured_steps(context.loaded, es):
        # Needs Triton, which comes with torch for GPUs and with no other.
        from workers.models.decoder.gpu import last_logits

        return "captured decoder", last_logits
    return "decoder", lambda small: Decoder(small, context.loaded.tokenizer).last_logits


class StartingWeights(Protocol):
    """Weights that a state begins with: their scales, and what loads those of a checkpoint."""

    def noise_scales(self, relative: bool) -> dict[str, float]:
        """Return the scale of each tensor's noise; `relative` ones are the tensors' root mean squares."""

    def load(self, folder: Path) -> None:
        """Take the weights from a checkpoint's folder. Raise NotResumable."""


def begin_state(context: Context, weights: StartingWeights, es: EsConfig, rows: Callable[[State], int]) -> State:
    """Return the state of a fresh run; or of the checkpoint to resume from, its weights loaded. Raise NotResumable.

    `rows` returns the rows of a batch, for a run that has stored none.
    """
    lora = lora_origin(es.lora)
    dtype = str(context.loaded.dtype).removeprefix("torch.")
    base = weights_sha256(context.loaded.path)
    # Rounded: the mean square of a large tensor differs in its last bits between devices and numbers of threads.
    scales = {name: float(np.float32(scale)) for name, scale in weights.noise_scales(es.layer_scale).items()}
    origin = Origin(base, dtype, context.config.seed, lora, scales)
    if context.resume is None:
        state = State.first(origin)
    else:
        state = State.load(context.resume)
        _refuse_another_origin(context.resume, state.origin, origin)
        weights.load(context.resume)
    state.rows = state.rows or _stored_rows(context, es, origin) or rows(state)
    return state


def _stored_rows(context: Context, es: EsConfig, origin: Origin) -> int:
    """Return the rows of earlier attempts, which left no checkpoint that stores them; 0 if es.rows is smaller now."""
    rows = stored_rows(context.directory, origin)
    return 0 if es.rows and es.rows < rows else rows


def _refuse_another_origin(checkpoint: Path, saved: Origin, ours: Origin) -> None:
    """Raise NotResumable unless both origins agree, except in the seed and the scales, which are the checkpoint's."""
    if saved.base_sha256 != ours.base_sha256:
        raise NotResumable(
            f"{checkpoint} was trained from another base model: its weights had the sha256 {saved.base_sha256}, "
            f"those of model.path have {ours.base_sha256}"
        )
    if saved.dtype != ours.dtype:
        raise NotResumable(f"{checkpoint} was trained in {saved.dtype}, not {ours.dtype}: set model.dtype to it")
    if saved.lora != ours.lora:
        raise NotResumable(f"{checkpoint} was trained with es.lora {saved.lora}, not {ours.lora}")


def initial_rows(context: Context, weights: TrainableWeights, es: EsConfig, state: State) -> int:
    """Return the rows of a batch of a run that decodes in its own processes, or by an adapter server."""
    if uses_captured_steps(context.loaded, es):
        return _plan_gpu(context, 0).rows
    if es.backend == "adapter_server":
        # One batch: the server answers as many members at a time as its adapters allow.
        return es.population * count_prompts(context, es)
    perturbation = Perturbation.from_config(es, state.origin.scales)
    fitting = MemberMemory.measure(context.loaded, weights, perturbation, es).fitting()
    device, gpus = context.loaded.device.type, context.config.compute.devices
    return choose_rows(es, count_prompts(context, es), fitting, device, gpus)


def plan_batches(context: Context, state: State) -> BatchPlan:
    """Return how the run cuts its populations. On a GPU record the memory that is planned for it, with its parts."""
    if not uses_captured_steps(context.loaded, context.config.es_section()):
        return BatchPlan.of_rows(state.rows, count_prompts(context, context.config.es_section()))
    plan = _plan_gpu(context, state.rows)
    print(describe_plan(plan), flush=True)
    context.alert("info", describe_plan(plan), state.step)
    context.metric(state.step, {"es/memory_planned_gb": plan.needed_gb}, state.axes)
    return batches_of(plan)


def _plan_gpu(context: Context, rows: int) -> CardPlan:
    """Return the memory of each engine. Raise ConfigError if it does not fit."""
    es, (engines, places) = context.config.es_section(), _count_engines(context)
    return plan_on_card(
        context.loaded, es, context.config.compute, prompts=count_prompts(context, es),
        longest_prompt=longest_prompt(context), engines=engines, sharing=-(-engines // places), rows=rows,
        evaluation=context.config.evaluation,
    )  # fmt: skip


def longest_prompt(context: Context) -> int:
    """Return the tokens of the longest prompt that training or evaluation may use."""
    held_out = context.task.examples("eval")[: context.config.evaluation.prompts]
    examples = (*context.task.examples("train"), *held_out)
    return max(len(context.prompts.ids(example.messages)) for example in examples)


def _count_engines(context: Context) -> tuple[int, int]:
    """Return the engines of the run, and the GPUs of all nodes that they share; one a node in place of GPUs on a
    CPU."""
    if context.config.es_section().backend == "adapter_server":
        return 1, 1
    places = context.config.compute.nodes * max(1, count_gpus(context))
    return context.config.es_section().engines or places, places


def count_gpus(context: Context) -> int:
    """Return the number of GPUs that the run's engines use on each node: those of the config, or all; 0 on a CPU."""
    if context.loaded.device.type != "cuda":
        return 0
    visible = torch.cuda.device_count()
    return min(visible, context.config.compute.devices or visible)


def count_prompts(context: Context, es: EsConfig) -> int:
    total = len(context.task.examples("train"))
    return min(es.prompts, total) if es.prompts else total


def start_group(context: Context, backend: DecoderBackEnd, state: State, plan: BatchPlan) -> EngineGroup:
    """Return the engines that share the run's members: one per GPU if the config names no number. Raise ConfigError."""
    es = context.config.es_section()
    connect_server(context, backend)
    count, _ = _count_engines(context)
    print(f"batches of {plan.members} of {es.population} members, {plan.rows} rows; engines: {count}", flush=True)
    threads = count_threads(context, count)
    torch.set_num_threads(threads)
    for warning in _engine_warnings(context, plan, count):
        context.alert("warning", warning)
    log = context.directory / FILE
    setup = EngineSetup(training_config(context), plan, state.origin.scales, state.origin.lineage(), log, threads)
    starter = EngineStarter.native(count_gpus(context), start_nodes(context.directory, context.config.compute))
    return EngineGroup(backend, plan, starter, setup, count)


def count_threads(context: Context, engines: int) -> int:
    """Return the threads of each of so many engines, which share the cores of their nodes."""
    compute = context.config.compute
    return max(1, compute.cores // -(-engines // compute.nodes))


def training_config(context: Context) -> dict[str, Any]:
    """Return the parts of the config that an engine needs, with the model's folder and device on this machine."""
    config = {key: value for key, value in context.config.to_json().items() if key in ENGINE_SECTIONS}
    config["model"] |= {"path": str(context.loaded.path.resolve()), "device": context.loaded.device.type}
    return config


def _engine_warnings(context: Context, plan: BatchPlan, engines: int) -> Iterator[str]:
    """Yield reasons why so many engines may not be faster than fewer."""
    batches, cores = len(plan.cut([0] * context.config.es_section().population)), context.config.compute.cores
    if batches < engines:
        es = context.config.es_section()
        refilled = es.refill and uses_captured_steps(context.loaded, es)
        advice = (
            "fewer engines are as fast" if refilled else f"in a new run, es.rows below {plan.rows} makes more batches"
        )
        yield (
            f"{engines} engines share {_plural(batches, 'batch', 'batches')} of at most {plan.members} members, so "
            f"some are idle; {advice}"
        )
    on_node = -(-engines // context.config.compute.nodes)
    if context.loaded.device.type == "cpu" and cores < on_node:
        shared = _plural(cores, "core", "cores") + (" of a node" if context.config.compute.nodes > 1 else "")
        yield f"{on_node} engines share {shared}; compute.cores should be at least {on_node}"


def _plural(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"
