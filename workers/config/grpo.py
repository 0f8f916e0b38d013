"""Settings of GRPO, in TRL's own names and with TRL's defaults: each is passed to `trl.GRPOConfig` unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from workers.config.decode import Problem
from workers.config.es import BaseLoraConfig
from workers.config.fields import Bounds, Resource, Shape
from workers.config.grpo_losses import LossType, loss_problems, vespo_vllm_problems

VLLM_SERVER = Shape(r"(https?://[^\s/?#@]+)?", "empty, or an address such as http://node7:8000")
LAUNCHABLE_EXTRA = (
    "optim", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "lr_scheduler_kwargs",
    "label_smoothing_factor", "bf16", "fp16", "tf32", "activation_checkpointing", "torch_compile",
    "use_liger_kernel", "use_cache", "neftune_noise_alpha", "torch_empty_cache_steps", "auto_find_batch_size",
    "average_tokens_across_devices", "full_determinism", "data_seed", "dataloader_drop_last",
    "dataloader_num_workers", "dataloader_pin_memory", "dataloader_persistent_workers",
    "dataloader_prefetch_factor", "logging_steps", "logging_first_step", "logging_nan_inf_filter",
    "log_completions", "num_completions_to_print", "log_unique_prompts", "router_aux_loss_coef",
    "disable_dropout", "cast_lm_head_to_fp32", "pad_to_multiple_of", "generation_batch_size",
    "steps_per_generation", "top_k", "min_p", "repetition_penalty", "generation_kwargs", "chat_template_kwargs",
    "cache_implementation", "vllm_importance_sampling_correction",
    "vllm_importance_sampling_mode", "vllm_importance_sampling_clip_max", "vllm_importance_sampling_clip_min",
    "vllm_importance_sampling_cap", "delta", "epsilon_high", "sapo_temperature_neg", "sapo_temperature_pos",
    "vespo_k_pos", "vespo_lambda_pos", "vespo_k_neg", "vespo_lambda_neg", "importance_sampling_level",
    "reward_weights", "multi_objective_aggregation", "mask_truncated_completions", "sync_ref_model",
    "ref_model_mixup_alpha", "ref_model_sync_steps", "top_entropy_quantile", "entropy_coef",
    "use_adaptive_entropy", "entropy_coef_min", "entropy_coef_max", "entropy_coef_delta", "entropy_target",
    "off_policy_mask_threshold", "use_bias_correction_kl",
)  # fmt: skip
"""Fields of trl.GRPOConfig that name no file, host, repository or code: the ones a site passes on from `extra`."""
DEFAULT_EPSILON = 0.2


@dataclass(frozen=True)
class GrpoVllmConfig:
    """vLLM as the generator of training completions. The trainer then runs in vLLM's environment."""

    mode: Literal["colocate", "server"] = "colocate"
    """colocate: an engine in each process of the trainer, on the same GPU. server: a server that `vllm serve`
    started, which has GPUs of its own."""
    gpu_memory_utilization: Annotated[float, Bounds(above=0, at_most=1)] = 0.3
    """Share of each GPU's memory for vLLM's weights, keys and values, in mode colocate."""
    tensor_parallel_size: Annotated[int, Bounds(at_least=1, at_most=64)] = 1
    """GPUs that share one engine, in mode colocate; it must divide the number of processes."""
    max_model_length: Annotated[int, Bounds(at_least=0, at_most=10_000_000)] = 0
    """Maximum length of prompt and completion in tokens; 0 means that of the model."""
    sleep: bool = False
    """Free vLLM's memory during each update, in mode colocate. Waking it takes time in each step."""
    server: Annotated[str, VLLM_SERVER, Resource("by_hand")] = ""
    """Address of the server, in mode server."""
    group_port: Annotated[int, Bounds(at_least=1024, at_most=65535)] = 51216
    """Port of the first process to which the server connects for the weights, in mode server."""

    def problems(self) -> Iterator[Problem]:
        if self.mode == "server" and not self.server:
            yield Problem("server", "is missing: mode server needs the address of a server, such as http://node7:8000")
        if self.mode == "colocate" and self.server:
            yield Problem("server", "must be empty in mode colocate; or set mode to server")


@dataclass(frozen=True)
class GrpoConfig:
    """Group Relative Policy Optimization, as TRL's GRPOTrainer does it."""

    max_steps: Annotated[int, Bounds(at_least=1, at_most=10_000_000)] = 500
    """Optimiser steps."""
    learning_rate: Annotated[float, Bounds(above=0, at_most=1000)] = 1e-6
    """Peak learning rate of AdamW."""
    lr_scheduler_type: Literal["constant", "linear", "cosine", "constant_with_warmup"] = "constant"
    """Schedule of the learning rate."""
    warmup_steps: Annotated[int, Bounds(at_least=0, at_most=10_000_000)] = 0
    """Steps until the learning rate reaches its peak."""
    num_generations: Annotated[int, Bounds(at_least=2, at_most=10_000)] = 8
    """Completions per prompt, the group size G."""
    per_device_train_batch_size: Annotated[int, Bounds(at_least=1, at_most=100_000)] = 8
    """Completions per process and forward pass. Over all processes and accumulation steps, they are a multiple of
    num_generations."""
    gradient_accumulation_steps: Annotated[int, Bounds(at_least=1, at_most=100_000)] = 1
    """Forward passes before one optimiser step."""
    max_completion_length: Annotated[int, Bounds(at_least=1, at_most=1_000_000)] = 256
    """Maximum completion length in tokens."""
    temperature: Annotated[float, Bounds(above=0, at_most=100)] = 1.0
    """Sampling temperature of the training completions."""
    top_p: Annotated[float, Bounds(above=0, at_most=1)] = 1.0
    """Nucleus sampling of the training completions: the smallest set of tokens with this total probability."""
    beta: Annotated[float, Bounds(at_least=0, at_most=1000)] = 0.0
    """Weight of the KL term. At 0, TRL loads no reference model and logs no kl."""
    epsilon: Annotated[float, Bounds(above=0, at_most=1000)] = DEFAULT_EPSILON
    """Clip range of the policy ratio."""
    num_iterations: Annotated[int, Bounds(at_least=1, at_most=10_000)] = 1
    """Optimisation passes over each batch of completions, μ."""
    loss_type: LossType = "dapo"
    """The loss. dapo, grpo, dr_grpo and bnpo differ in how they average the token losses; cispo, sapo and vespo replace
    the clipping, luspo weights by length. The fields of a loss are set in extra. GSPO: grpo with
    extra.importance_sampling_level: sequence, which luspo needs too."""
    scale_rewards: Literal["group", "batch", "none"] = "group"
    """Standard deviation that advantages are divided by: of the group, of the batch, or none."""
    max_grad_norm: Annotated[float, Bounds(at_least=0, at_most=1_000_000)] = 1.0
    """Maximum gradient norm; larger gradients are clipped."""
    save_steps: Annotated[int, Bounds(at_least=0, at_most=10_000_000)] = 100
    """Save a checkpoint every this many steps; 0 means only at the end."""
    keep: Literal["last", "all"] = "last"
    """What a resume needs besides the model's weights (optimiser, random streams, float32 weights) stays on disk with
    these checkpoints. last: the newest one, until the run has made its last step, whose checkpoint has float32 weights
    and nothing else. all: every one."""
    lora: BaseLoraConfig | None = None
    """Train a LoRA adapter instead of the weights; null for the weights."""
    sharding: Literal["none", "fsdp", "zero2"] = "none"
    """Distribution of the training state over the processes. none: each has all of it. fsdp: weights, gradients and
    optimizer are split (FullyShardedDataParallel). zero2: gradients and optimizer are split (DeepSpeed)."""
    processes_per_node: Annotated[int, Bounds(at_least=0, at_most=1024)] = 0
    """Processes of the trainer on each node; 0 means one for each GPU, or one without GPUs."""
    gradient_checkpointing: bool = False
    """Compute activations again in the backward pass instead of storing them: less memory, about a third more time."""
    vllm: GrpoVllmConfig | None = None
    """Generate completions with vLLM; null means with the trained model itself."""
    completions_every: Annotated[int, Bounds(at_least=0, at_most=10_000_000)] = 10
    """Save all completions of the training, with their advantages, of every so many steps; 0 saves none."""
    extra: Annotated[dict[str, Any], Resource("trainer_arguments")] = field(default_factory=dict)
    """Other fields of trl.GRPOConfig, by their TRL names; the installed TRL checks them before training."""

    def problems(self) -> Iterator[Problem]:
        yield from loss_problems(self.loss_type, self.epsilon == DEFAULT_EPSILON, self.beta, self.extra)
        if self.loss_type == "vespo" and self.vllm is not None:
            yield from vespo_vllm_problems(self.extra)

    def processes_on(self, gpus: int) -> int:
        """Return the processes of the trainer on a node with so many GPUs."""
        return self.processes_per_node or max(gpus, 1)

    def batch_problems(self, processes: int) -> Iterator[Problem]:
        """Yield the mistakes in the batch of so many processes in total."""
        factors = "per_device_train_batch_size × gradient_accumulation_steps"
        batch = self.per_device_train_batch_size * self.gradient_accumulation_steps * processes
        if batch % self.num_generations:
            factors += f" × {processes} processes" if processes > 1 else ""
            yield Problem("grpo.num_generations", f"must divide {factors} = {batch}, not {self.num_generations}")
