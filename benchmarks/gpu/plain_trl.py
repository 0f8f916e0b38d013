"""Train the config of a GRPO run with TRL alone, as its examples do it, and write the time and the memory of each step.

    python -m benchmarks.gpu.plain_trl run.json RESULTS.json
    accelerate launch --config_file accelerate.yaml -m benchmarks.gpu.plain_trl run.json RESULTS.json

GRPOTrainer trains a float32 master with bfloat16 autocast, and loads its reference itself. Prompts, their order and
rewards are those of the run. RESULTS is a list of [seconds, GB], the peak being that of torch's allocator on the first
GPU.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import trl
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback

from workers import tasks
from workers.config import RunConfig
from workers.engines.grpo.arguments import prompts_needed
from workers.engines.grpo.train import prompt_rows
from workers.models import PromptFormat

PASSED = (
    "max_steps", "learning_rate", "lr_scheduler_type", "num_generations", "per_device_train_batch_size",
    "gradient_accumulation_steps", "max_completion_length", "temperature", "beta", "loss_type",
)  # fmt: skip


class Clock(TrainerCallback):  # type: ignore[misc]
    """The seconds and the peak in GB of each step."""

    def __init__(self) -> None:
        self.steps: list[tuple[float, float]] = []
        self._began = 0.0

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        torch.cuda.reset_peak_memory_stats()
        self._began = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.steps.append((time.perf_counter() - self._began, torch.cuda.max_memory_allocated() / 1e9))


def main(config_path: Path, results: Path) -> None:
    """Train, and write the results in the first process."""
    config = RunConfig.read(config_path)
    grpo = config.grpo
    if grpo is None:
        raise SystemExit("the config has no grpo section")
    arguments = trl.GRPOConfig(
        output_dir=tempfile.mkdtemp(), bf16=True, save_strategy="no", report_to=[], disable_tqdm=True, logging_steps=1,
        activation_checkpointing=False, dataloader_pin_memory=False, ddp_find_unused_parameters=False,
        shuffle_dataset=False, seed=config.seed, **{name: getattr(grpo, name) for name in PASSED}, **_vllm(config),
        # TRL would spread the reference over all GPUs of the machine: with FSDP it does not notice other processes.
        model_init_kwargs={"device_map": None} if grpo.sharding == "fsdp" else None,
    )  # fmt: skip
    tokenizer = AutoTokenizer.from_pretrained(config.model.path, padding_side="left")
    task = tasks.make(config.task)
    examples = task.examples("train")

    def reward(completions: list[str], example: list[int], **_: Any) -> list[float]:
        pairs = [(examples[i], text) for i, text in zip(example, completions, strict=True)]
        return [score.reward for score in tasks.score_safely(task, pairs)]

    clock = Clock()
    prompts = PromptFormat.from_config(config, tokenizer)
    trl.GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(config.model.path, dtype=torch.float32),
        args=arguments,
        train_dataset=prompt_rows(prompts, examples, prompts_needed(arguments), config.seed),
        processing_class=tokenizer,
        reward_funcs=reward,
        callbacks=[clock],
    ).train()
    if arguments.process_index == 0:
        results.write_text(json.dumps(clock.steps), encoding="utf-8")


def _vllm(config: RunConfig) -> dict[str, Any]:
    vllm = config.grpo.vllm if config.grpo else None
    if vllm is None:
        return {}
    return {
        "use_vllm": True,
        "vllm_mode": "colocate",
        "vllm_gpu_memory_utilization": vllm.gpu_memory_utilization,
        "vllm_max_model_length": vllm.max_model_length,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
