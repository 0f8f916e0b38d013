"""RunConfig.grpo -> trl.GRPOConfig. Every setting has TRL's name; `extra` may set any other field of TRL's."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
import trl

from workers.config import ConfigError, GrpoConfig, Problem, RunConfig
from workers.models import Loaded

NOT_PASSED = (
    "lora", "extra", "save_steps", "keep", "sharding", "processes_per_node", "gradient_checkpointing", "vllm",
    "completions_every",
)  # fmt: skip
VLLM_EXTRA = ("use_vllm", "vllm_mode", "vllm_gpu_memory_utilization", "vllm_tensor_parallel_size")
RENAMED = {"gradient_checkpointing_kwargs": "activation_checkpointing_kwargs"}
SETTING_NAMES = tuple(f.name for f in dataclasses.fields(GrpoConfig))


def arguments(config: RunConfig, loaded: Loaded, directory: Path) -> trl.GRPOConfig:
    """Return TRL's own config object. Raise ConfigError for what the installed TRL does not know or refuses."""
    settings = section(config)
    fixed = _fixed(config, loaded, directory)
    if problems := list(_problems(settings.extra, fixed)):
        raise ConfigError(problems)
    passed = {name: getattr(settings, name) for name in SETTING_NAMES if name not in NOT_PASSED}
    passed |= {"activation_checkpointing": settings.gradient_checkpointing} | _generation(settings)
    try:
        return trl.GRPOConfig(**(_preferred(loaded) | passed | fixed | settings.extra))
    except (TypeError, ValueError) as error:
        raise ConfigError([Problem("grpo", f"TRL {trl.__version__} refuses it: {error}")]) from error


def section(config: RunConfig) -> GrpoConfig:
    """Return the run's GRPO settings. Raise ConfigError for a run of another method."""
    if config.grpo is None:
        raise ConfigError([Problem("grpo", f"is missing, but the method is {config.method}")])
    return config.grpo


def prompts_needed(arguments: trl.GRPOConfig) -> int:
    """Return the prompts that the whole run draws, with repetition, in TRL's RepeatSampler: one per group."""
    passes = arguments.steps_per_generation * arguments.num_iterations
    generations = -(-arguments.max_steps * arguments.gradient_accumulation_steps // passes)
    return int(generations * arguments.generation_batch_size // arguments.num_generations)


def _generation(settings: GrpoConfig) -> dict[str, Any]:
    """Return the arguments of the generator of completions."""
    vllm = settings.vllm
    if vllm is None:
        return {}
    shared = {"use_vllm": True, "vllm_mode": vllm.mode, "vllm_max_model_length": vllm.max_model_length or None}
    if vllm.mode == "server":
        return shared | {"vllm_server_base_url": vllm.server, "vllm_group_port": vllm.group_port}
    return shared | {
        "vllm_gpu_memory_utilization": vllm.gpu_memory_utilization,
        "vllm_tensor_parallel_size": vllm.tensor_parallel_size,
        "vllm_enable_sleep_mode": vllm.sleep,
    }


def _preferred(loaded: Loaded) -> dict[str, Any]:
    """Return replacements for TRL's defaults, which assume a large GPU and a console. `extra` may override them."""
    return {
        "bf16": loaded.dtype == torch.bfloat16 and loaded.device.type == "cuda" and torch.cuda.is_bf16_supported(),
        "fp16": loaded.dtype == torch.float16 and loaded.device.type == "cuda",
        "logging_steps": 1,
        "dataloader_pin_memory": False,
        "ddp_find_unused_parameters": False,
    }


def _fixed(config: RunConfig, loaded: Loaded, directory: Path) -> dict[str, Any]:
    """Return the arguments that follow from the rest of the run's config, or that our records and checkpoints
    replace."""
    return {
        "output_dir": str(directory),
        "seed": config.seed,
        "use_cpu": loaded.device.type == "cpu",
        "save_strategy": "no",
        "eval_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        # The data set is the run's whole order of prompts, so that a resume finds its position in it.
        "shuffle_dataset": False,
    }


def _problems(extra: Mapping[str, Any], fixed: Mapping[str, Any]) -> Iterator[Problem]:
    field_names = sorted(
        {f.name for f in dataclasses.fields(trl.GRPOConfig) if f.init} - fixed.keys() - set(SETTING_NAMES)
    )
    for key in extra:
        path = f"grpo.extra.{key}"
        if key in SETTING_NAMES:
            yield Problem(path, f"is a separate setting: set grpo.{key}")
        elif key in fixed:
            yield Problem(path, "follows from the rest of the config and cannot be set here")
        elif key in VLLM_EXTRA:
            yield Problem(path, "is set by grpo.vllm")
        elif key in RENAMED:
            # Transformers accepts the old name as well, but lets the new one, which we set, win silently.
            yield Problem(path, f"is now called {RENAMED[key]}")
        elif key not in field_names:
            yield Problem(path, f"is not a field of trl.GRPOConfig in TRL {trl.__version__}{_near(key, field_names)}")


def _near(key: str, names: list[str]) -> str:
    near = difflib.get_close_matches(key, names, n=4)
    hint = f"; did you mean {' or '.join(near)}?" if near else "."
    return f"{hint} {len(names)} fields can be set here"
