"""The distribution of a GRPO run in the words of accelerate: a file for `accelerate launch`, and variables.

The file is what a user needs to start the same training by hand. Processes that esweb starts get the variables that
accelerate makes of it. ZeRO-2 was never run here: its file and variables are checked against accelerate's reader only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workers.config import RunConfig

FSDP: Mapping[str, Any] = {
    "fsdp_version": 2,
    # Weights stay gathered from the first completion to the end of the backward pass: completions would gather each
    # layer again for each token.
    "fsdp_reshard_after_forward": False,
    "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
    "fsdp_state_dict_type": "FULL_STATE_DICT",
    "fsdp_cpu_ram_efficient_loading": False,
    "fsdp_offload_params": False,
    "fsdp_activation_checkpointing": False,
}
ZERO2: Mapping[str, Any] = {
    "zero_stage": 2,
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "offload_optimizer_device": "none",
    "offload_param_device": "none",
    "zero3_init_flag": False,
}
ZERO2_VARIABLES = {
    "zero_stage": "ACCELERATE_DEEPSPEED_ZERO_STAGE",
    "gradient_accumulation_steps": "ACCELERATE_GRADIENT_ACCUMULATION_STEPS",
    "gradient_clipping": "ACCELERATE_GRADIENT_CLIPPING",
    "offload_optimizer_device": "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE",
    "offload_param_device": "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE",
    "zero3_init_flag": "ACCELERATE_DEEPSPEED_ZERO3_INIT",
}
DISTRIBUTED_TYPES = {"none": "MULTI_GPU", "fsdp": "FSDP", "zero2": "DEEPSPEED"}
FILE = "accelerate.yaml"


def accelerate_yaml(config: RunConfig) -> str:
    """Return the config file of accelerate for a run with several processes."""
    if config.grpo is None:
        raise ValueError("the config has no grpo section")
    compute, sharding = config.compute, config.grpo.sharding
    settings: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": DISTRIBUTED_TYPES[sharding] if compute.devices or sharding != "none" else "MULTI_CPU",
        "num_machines": compute.nodes,
        "num_processes": config.processes,
        "machine_rank": 0,
        "mixed_precision": mixed_precision(config),
        "use_cpu": not compute.devices,
        "main_training_function": "main",
        "rdzv_backend": "static",
        "same_network": True,
    }
    sections = {"fsdp": ("fsdp_config", FSDP), "zero2": ("deepspeed_config", ZERO2)}
    lines = [f"{name}: {_yaml(value)}" for name, value in settings.items()]
    if sharding in sections:
        title, section = sections[sharding]
        lines += [f"{title}:", *(f"  {name}: {_yaml(value)}" for name, value in section.items())]
    return "\n".join([*lines, ""])


def variables(config: RunConfig) -> dict[str, str]:
    """Return the variables from which accelerate reads the distribution, as `accelerate launch` sets them."""
    sharding = config.grpo.sharding if config.grpo else "none"
    if sharding == "fsdp":
        return {"ACCELERATE_USE_FSDP": "true", **{name.upper(): _text(value) for name, value in FSDP.items()}}
    if sharding == "zero2":
        named = {ZERO2_VARIABLES[name]: _text(value) for name, value in ZERO2.items()}
        return {"ACCELERATE_USE_DEEPSPEED": "true", "ACCELERATE_MIXED_PRECISION": mixed_precision(config), **named}
    return {}


def mixed_precision(config: RunConfig) -> str:
    """Return accelerate's name of the precision of forward and backward passes."""
    on_gpu = config.compute.devices and config.model.device != "cpu"
    chosen = {"auto": "bf16", "bfloat16": "bf16", "float16": "fp16", "float32": "no"}[config.model.dtype]
    return chosen if on_gpu else "no"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _yaml(value: object) -> str:
    """Return a value as YAML; `no` alone would be read as false."""
    return "'no'" if value == "no" else _text(value)
