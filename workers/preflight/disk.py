"""The disk that a run's checkpoints take: the most at once, while the newest is written, and what stays after the end.

Which of them stay, with which parts, is what `keep` of es and grpo says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from workers.config import RunConfig
from workers.config.es import BaseLoraConfig, LoraConfig
from workers.memory_plan.grpo_parts import ADAMW_NUMBER_BYTES, OPTIMIZER_NUMBER_BYTES
from workers.preflight.model_files import ModelFiles, Shapes

FLOAT32 = 4
TENSOR_HEAD_BYTES = 62
"""Bytes by which a tensor's entry at the start of a safetensors file exceeds its name."""
STATE_BYTES = 1_500
"""Bytes of es-state.json and adapter_config.json."""
TRAINER_BYTES = 25_000
"""Bytes of TRL's progress, schedule, random streams and model card."""
ADAPTER_BYTES = 6_500
"""Bytes of an adapter's settings and model card, as peft writes them; part of TRAINER_BYTES."""
OPTIMIZER_ENTRY_BYTES = 840
"""Bytes of an optimizer's file for each tensor, in addition to its numbers."""


@dataclass(frozen=True)
class CheckpointBytes:
    """Bytes of one checkpoint. `weights`: the Hugging Face weights. `master`: the same in float32, if they are not and
    a resume needs them. `adapter`: the LoRA. `optimizer`: GRPO's. `others`: tokenizer, settings and progress."""

    weights: int
    master: int
    adapter: int
    optimizer: int
    others: int

    @property
    def total(self) -> int:
        """Return the sum."""
        return self.weights + self.master + self.adapter + self.optimizer + self.others


@dataclass(frozen=True)
class DiskPlan:
    """Checkpoints of a run that is not interrupted: how many it saves, and the bytes of each.

    `checkpoint`: the newest, from which the run resumes; `earlier`: what stays of each that is older, None for nothing;
    `last`: that of the last step.
    """

    checkpoint: CheckpointBytes
    checkpoints: int
    earlier: CheckpointBytes | None
    last: CheckpointBytes

    @property
    def left(self) -> int:
        """Return the bytes of all checkpoints after the end of the run."""
        return self.last.total + self._stays(self.checkpoints - 1)

    @property
    def total(self) -> int:
        """Return the most bytes of checkpoints at once. The one before the newest is whole until that is in place."""
        before_last = self.checkpoint.total + self._stays(self.checkpoints - 2)
        while_last = before_last + self.last.total if self.checkpoints > 1 else self.last.total
        while_newest = before_last + self.checkpoint.total - self._stays(1) if self.checkpoints > 2 else 0
        return max(self.left, while_last, while_newest)

    def _stays(self, count: int) -> int:
        return count * self.earlier.total if self.earlier is not None and count > 0 else 0

    def to_json(self) -> dict[str, int | dict[str, int]]:
        """Return the numbers, all in bytes but `checkpoints`."""
        return {
            "checkpoints": self.checkpoints,
            "checkpoint_bytes": self.checkpoint.total,
            "total_bytes": self.total,
            "left_bytes": self.left,
            "parts": asdict(self.checkpoint),
        }


def plan_disk(config: RunConfig, model: ModelFiles) -> DiskPlan | None:
    """Return the checkpoints of a run; None if it trains nothing, or if the model's sizes are unknown."""
    if not config.is_training or not model.shapes:
        return None
    count = count_checkpoints(config)
    return _es_plan(config, model, count) if config.es else _grpo_plan(config, model, count)


def count_checkpoints(config: RunConfig) -> int:
    """Return how many checkpoints a run saves: every so many steps, and after the last step."""
    every = config.es.checkpoint_every if config.es else config.grpo.save_steps if config.grpo else 0
    return -(-config.steps // every) if every else int(config.is_training)


def number_bytes(config: RunConfig) -> int:
    """Return the bytes of a number in the working precision: auto is bfloat16 on GPUs, and float32 without."""
    model = config.model
    if model.dtype == "auto":
        return 2 if model.device == "cuda" or (model.device == "auto" and config.compute.gpus) else FLOAT32
    return FLOAT32 if model.dtype == "float32" else 2


def _es_plan(config: RunConfig, model: ModelFiles, count: int) -> DiskPlan:
    es, number = config.es_section(), number_bytes(config)
    weights = _file_bytes(model.shapes, number)
    adapter = _file_bytes(adapter_shapes(model.shapes, es.lora), FLOAT32) if es.lora else 0
    master = 0 if es.lora or number == FLOAT32 else _file_bytes(model.shapes, FLOAT32)
    newest = CheckpointBytes(weights, master, adapter, 0, model.other_bytes + STATE_BYTES)
    if es.keep == "all":
        return DiskPlan(newest, count, newest, newest)
    return DiskPlan(newest, count, None, replace(newest, master=0))


def _grpo_plan(config: RunConfig, model: ModelFiles, count: int) -> DiskPlan:
    lora = config.grpo.lora if config.grpo else None
    # Without an adapter, TRL trains float32 weights; the model's and the merged weights have the working precision.
    weights, exact = _file_bytes(model.shapes, number_bytes(config)), _file_bytes(model.shapes, FLOAT32)
    master = 0 if lora or number_bytes(config) == FLOAT32 else exact
    trained = adapter_shapes(model.shapes, lora) if lora else model.shapes
    adapter = _file_bytes(trained, FLOAT32) if lora else 0
    optim = str(config.grpo.extra.get("optim", "")) if config.grpo else ""
    each = OPTIMIZER_NUMBER_BYTES.get(optim, ADAMW_NUMBER_BYTES)
    optimizer = int(each * _numbers(trained)) + OPTIMIZER_ENTRY_BYTES * len(trained)
    newest = CheckpointBytes(weights, master, adapter, optimizer, model.other_bytes + TRAINER_BYTES)
    if config.grpo is not None and config.grpo.keep == "all":
        return DiskPlan(newest, count, newest, newest)
    earlier = CheckpointBytes(weights, 0, adapter, 0, model.other_bytes + (ADAPTER_BYTES if lora else 0))
    return DiskPlan(newest, count, earlier, earlier if lora else replace(earlier, weights=exact))


def adapter_shapes(shapes: Shapes, lora: BaseLoraConfig) -> Shapes:
    """Return the names and shapes of A and B for every matrix that gets an adapter."""
    layers = lora.layer_numbers() if isinstance(lora, LoraConfig) else ()
    matrices = {name: shape for name, shape in shapes.items() if _is_target(name, shape, lora.targets, layers)}
    return {
        f"base_model.model.{name.removesuffix('weight')}lora_{letter}.weight": sizes
        for name, (outputs, inputs, *_) in matrices.items()
        for letter, sizes in (("A", (lora.rank, inputs)), ("B", (outputs, lora.rank)))
    }


def _is_target(name: str, shape: Sequence[int], targets: Sequence[str], layers: Sequence[int]) -> bool:
    parts = name.split(".")
    if parts[-1] != "weight" or len(shape) != 2 or len(parts) < 2 or parts[-2] not in targets:
        return False
    return not layers or any(part.isdecimal() and int(part) in layers for part in parts)


def _numbers(shapes: Shapes) -> int:
    return sum(math.prod(shape) for shape in shapes.values())


def _file_bytes(shapes: Shapes, number: int) -> int:
    """Return the bytes of a safetensors file with these tensors."""
    return number * _numbers(shapes) + sum(len(name) + TENSOR_HEAD_BYTES for name in shapes)
