"""Adapt a config to less hardware than it was written for, so that it stays as comparable as possible.

GRPO keeps its generation batch: fewer processes accumulate more passes. ES keeps its members: fewer engines share them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workers.config import BaseLoraConfig, GrpoConfig, RunConfig, encode
from workers.config.presets import PresetNeeds
from workers.memory_plan.card import SHARE

STATE_BYTES = 16
"""Bytes per weight of mixed-precision training with Adam: 2 weight, 2 gradient, 4 master, 8 moments (arXiv 1910.02054,
§3.1)."""
WEIGHT_BYTES = 2
"""Bytes per weight of a model that is only read: the reference model, or the base of a LoRA."""
CENTRE_BYTES = 4
"""Bytes per weight of the two 16-bit models that GRPO's first process holds during an evaluation: the trained weights
and the base model."""
ES_BYTES = 8
"""Bytes per weight of an ES engine: 4 master, 2 working copy, 2 base model for the KL."""
ROW_STEP = 8

FEWER_NODES = "The cluster has no more nodes for a run."
FEWER_GPUS_ES = (
    "Fewer engines share the same members, so an iteration takes longer. The update is the same except for rounding."
)
FEWER_GPUS_GRPO = "Fewer processes generate and train, so a step takes longer. The results stay comparable."
SAME_BATCH = "Fewer processes accumulate more passes: completions per step, and so the gradient, stay the same."
ENGINES = "0 means one engine per GPU. The members and their update stay the same except for rounding."
PROCESSES = "A node cannot have more processes than GPUs."
ONE_PROCESS = "One process has nothing to split the training state with. The results stay the same."
CHECKPOINTING = (
    "The GPUs have less memory than published. Activations are computed again: the results stay the same, and a step "
    "takes about a third longer."
)
LORA = (
    "The training state of all weights does not fit these GPUs. This changes the method: a LoRA adapter is trained "
    "instead of the weights, so the results are not comparable with published ones."
)
WHOLE_ADAPTER = "The training state of an adapter is small, so each process holds all of it. The results stay the same."
FEWER_ROWS = "The GPUs have less memory than published. Smaller batches take longer; results differ in rounding only."
FEWER_CORES = "No node has more cores. The results stay the same."
ANY_TYPE = "The cluster has no GPUs of this type. Other GPUs may differ in rounding."
REASONS = (
    FEWER_NODES, FEWER_GPUS_ES, FEWER_GPUS_GRPO, SAME_BATCH, ENGINES, PROCESSES, ONE_PROCESS, CHECKPOINTING, LORA,
    WHOLE_ADAPTER, FEWER_ROWS, FEWER_CORES, ANY_TYPE,
)  # fmt: skip
"""All reasons of changes, for translators."""
NO_GPUS = "A model of this size cannot be trained there."
ES_TOO_LARGE = (
    "An ES engine holds 8 bytes per weight, %(needed)s GB for this model, and these GPUs have %(card)s GB. Use larger "
    "GPUs or a smaller model."
)
LORA_TOO_LARGE = (
    "Even for a LoRA, the weights and the copy that is evaluated take %(needed)s GB, and these GPUs have %(card)s GB. "
    "Use larger GPUs or a smaller model."
)
FIXED_GENERATION = (
    "grpo.extra.steps_per_generation is set, so the completions per step would change with the number of GPUs. Remove "
    "it first."
)
REFUSALS = (NO_GPUS, ES_TOO_LARGE, LORA_TOO_LARGE, FIXED_GENERATION)
"""All reasons why a config cannot be adapted, for translators."""


class CannotAdapt(ValueError):
    """A config that no change makes fit. `template` % `values` is the reason."""

    def __init__(self, template: str, **values: str) -> None:
        super().__init__(template % values)
        self.template, self.values = template, values


@dataclass(frozen=True)
class Change:
    """A setting that an adaptation changes, and its effect on the results."""

    path: str
    before: Any
    after: Any
    why: str

    @property
    def before_text(self) -> str:
        """Return the value before in one line."""
        return _text(self.before)

    @property
    def after_text(self) -> str:
        """Return the value after in one line."""
        return _text(self.after)


def adapt(
    config: RunConfig,
    *,
    gpus: int,
    card_gb: float | None = None,
    nodes: int = 1,
    cores: int | None = None,
    has_gpu_type: bool = True,
    needs: PresetNeeds | None = None,
) -> tuple[RunConfig, list[Change]]:
    """Return the config for at most `nodes` nodes with `gpus` GPUs of `card_gb` · 10⁹ bytes each, and its changes.

    `cores` of each node and `card_gb` are None if unknown. `has_gpu_type`: whether the nodes have GPUs of the config's
    type. `needs`: those of the preset with this model; without them, memory is not considered. A config that already
    fits is returned without changes. Raise CannotAdapt.
    """
    if not config.compute.devices:
        return config, []
    if not gpus:
        raise CannotAdapt(NO_GPUS)
    changes = [*_compute_changes(config, cores, has_gpu_type)]
    fewer_nodes, fewer_gpus = _gpu_counts(config, nodes, gpus)
    changes += _changes(("compute.nodes", config.compute.nodes, fewer_nodes, FEWER_NODES))
    why = FEWER_GPUS_ES if config.es else FEWER_GPUS_GRPO
    if not config.compute.shares_gpu:
        changes += _changes(("compute.gpus", config.compute.gpus, fewer_gpus, why))
    if config.grpo is not None:
        changes += _grpo_changes(config, config.grpo, fewer_nodes, fewer_gpus)
    if config.es is not None and config.es.engines > fewer_nodes * fewer_gpus:
        changes += _changes(("es.engines", config.es.engines, 0, ENGINES))
    if needs is not None and needs.gpu_memory_gb and card_gb is not None:
        share = config.compute.gpu_share or 1
        changes += _memory_changes(_apply(config, changes), needs, share * card_gb)
    return _apply(config, changes), changes


def _text(value: Any) -> str:
    """Return a value as JSON writes it; the settings of a section in turn: rank 8, alpha 16.0."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(inner)}" for name, inner in value.items())
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else json.dumps(value)


def _apply(config: RunConfig, changes: list[Change]) -> RunConfig:
    data = config.to_json()
    for change in changes:
        *sections, name = change.path.split(".")
        section = data
        for part in sections:
            section = section[part]
        section[name] = change.after
    return RunConfig.from_json(data)


def _changes(*rows: tuple[str, Any, Any, str]) -> Iterator[Change]:
    """Yield the rows (path, before, after, why) whose value changes."""
    yield from (Change(*row) for row in rows if row[1] != row[2])


def _compute_changes(config: RunConfig, cores: int | None, has_gpu_type: bool) -> Iterator[Change]:
    compute = config.compute
    if cores is not None and cores < compute.cores:
        yield Change("compute.cores", compute.cores, cores, FEWER_CORES)
    if compute.gpu_type and not has_gpu_type:
        yield Change("compute.gpu_type", compute.gpu_type, "", ANY_TYPE)


def _gpu_counts(config: RunConfig, nodes: int, gpus: int) -> tuple[int, int]:
    """Return nodes and GPUs of each: the most with which GRPO can keep its batch. One process always can."""
    compute = config.compute
    most_nodes, most_gpus = min(compute.nodes, nodes), min(compute.devices, gpus)
    if config.grpo is None or (most_nodes, most_gpus) == (compute.nodes, compute.devices):
        return most_nodes, most_gpus
    if "steps_per_generation" in config.grpo.extra:
        raise CannotAdapt(FIXED_GENERATION)
    batch = _batch(config.grpo, config.processes)
    pairs = [(n, g) for n in range(1, most_nodes + 1) for g in range(1, most_gpus + 1)]
    fitting = [
        (n, g)
        for n, g in pairs
        if batch % (config.grpo.per_device_train_batch_size * _processes(config.grpo, n, g)) == 0
    ]
    return max(fitting, key=lambda pair: (pair[0] * pair[1], pair[1]))


def _batch(grpo: GrpoConfig, processes: int) -> int:
    return grpo.per_device_train_batch_size * grpo.gradient_accumulation_steps * processes


def _processes(grpo: GrpoConfig, nodes: int, gpus: int) -> int:
    return nodes * min(grpo.processes_on(gpus), gpus)


def _grpo_changes(config: RunConfig, grpo: GrpoConfig, nodes: int, gpus: int) -> Iterator[Change]:
    processes = _processes(grpo, nodes, gpus)
    passes = _batch(grpo, config.processes) // (grpo.per_device_train_batch_size * processes)
    yield from _changes(
        ("grpo.processes_per_node", grpo.processes_per_node, min(grpo.processes_per_node, gpus), PROCESSES),
        ("grpo.gradient_accumulation_steps", grpo.gradient_accumulation_steps, passes, SAME_BATCH),
        ("grpo.sharding", grpo.sharding, "none" if processes == 1 else grpo.sharding, ONE_PROCESS),
    )


def _memory_changes(config: RunConfig, needs: PresetNeeds, card_gb: float) -> Iterator[Change]:
    """Yield the changes for GPUs with less memory than the preset needs."""
    share = max(1.0, needs.gpus * needs.nodes / config.processes) if config.grpo else 1.0
    if needs.gpu_memory_gb * share <= card_gb:
        return
    if config.grpo is not None:
        yield from _grpo_memory_changes(config, config.grpo, needs.parameters_billions, card_gb)
    elif config.es is not None and config.es.backend == "native":
        needed = ES_BYTES * needs.parameters_billions
        if needed > SHARE * card_gb:
            raise CannotAdapt(ES_TOO_LARGE, needed=f"{needed:.0f}", card=f"{card_gb:.3g}")
        fewer = int(config.es.rows * card_gb / needs.gpu_memory_gb) // ROW_STEP * ROW_STEP
        rows = max(fewer, ROW_STEP) if config.es.rows > ROW_STEP else config.es.rows
        yield from _changes(("es.rows", config.es.rows, rows, FEWER_ROWS))


def _grpo_memory_changes(config: RunConfig, grpo: GrpoConfig, billions: float, card_gb: float) -> Iterator[Change]:
    usable = SHARE * card_gb
    yield from _changes(("grpo.gradient_checkpointing", grpo.gradient_checkpointing, True, CHECKPOINTING))
    if grpo.lora is None:
        split = config.processes if grpo.sharding != "none" else 1
        reference = WEIGHT_BYTES / split if grpo.beta else 0.0
        if (STATE_BYTES / split + reference + CENTRE_BYTES) * billions <= usable:
            return
        yield Change("grpo.lora", None, encode(BaseLoraConfig()), LORA)
        yield from _changes(("grpo.sharding", grpo.sharding, "none", WHOLE_ADAPTER))
    if (needed := (WEIGHT_BYTES + CENTRE_BYTES) * billions) > usable:
        raise CannotAdapt(LORA_TOO_LARGE, needed=f"{needed:.0f}", card=f"{card_gb:.3g}")
