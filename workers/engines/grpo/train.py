"""The training: RunConfig in, TRL's GRPOTrainer runs, records out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import peft
import torch
import trl
from datasets import Dataset
from torch import nn
from transformers import AutoModelForCausalLM, PrinterCallback

from workers.config import BaseLoraConfig
from workers.engines.context import Context, Stopped, step_of
from workers.engines.grpo.arguments import arguments, prompts_needed, section
from workers.engines.grpo.callback import RecordsCallback
from workers.engines.grpo.centre import Centre
from workers.engines.grpo.checkpoint import Progress, read_progress, restore_generation, state_folder
from workers.engines.grpo.completions import CompletionRecorder
from workers.engines.grpo.distribution import trained_weights
from workers.engines.grpo.exactness import inexact_reasons, resume_message
from workers.engines.grpo.process_group import PeerFailed, ProcessGroup, leave_processes
from workers.engines.grpo.rewards import Rewards
from workers.engines.grpo.saving import Saver
from workers.engines.grpo.trainer import Trainer
from workers.engines.stop import Interrupted
from workers.memory_plan import ModelSizes, centre_stays
from workers.models import Loaded, PromptFormat
from workers.preflight.vllm_interpreter import VLLM_VARIABLES
from workers.scorer.client import ScorerFailed
from workers.tasks import Example
from workers.trainer_processes import PeerLost


def train(context: Context) -> None:
    """Train to the last step. Raise Stopped and ScorerFailed after a checkpoint, ConfigError, RewardFailed.

    With several processes, all call it. Raise PeerLost if the first one failed.
    """
    if section(context.config).vllm is not None:
        os.environ.update(VLLM_VARIABLES)
    args = arguments(context.config, context.loaded, context.directory)
    lora = section(context.config).lora
    examples = context.task.examples("train")
    progress, processes = Progress(), ProcessGroup()
    if context.resume is not None:
        progress = read_progress(context.resume, context.loaded.gpus, lora=lora is not None)
    rewards = Rewards(context.task, examples, args.num_generations, progress.multiplier, processes)
    rewards.tokens, rewards.samples, rewards.mean = progress.tokens, progress.samples, progress.reward

    reference = _reference(context, args, lora)
    is_shared = reference is context.evaluator.base
    centre = _centre(context, processes, lora, is_shared=is_shared)
    if not (processes.is_first or is_shared):
        # The first process evaluates.
        context.evaluator.drop_base()
    trainer = _trainer(context, args, rewards, examples, lora, reference)
    callback = RecordsCallback(
        context,
        rewards,
        progress,
        processes,
        evaluate=lambda step: _evaluate(context, processes, centre, trainer, callback, step),
        save=Saver(context, processes, centre, trainer, progress).save,
    )
    trainer.add_callback(callback)
    if context.resume is None:
        _evaluate(context, processes, centre, trainer, callback, 0)
    else:
        centre.release()
        _resume(context, context.resume, trainer, lora=lora is not None)
    context.status("training", progress=0.0 if context.resume is None else None)
    _run(context, trainer, callback, lora=lora is not None)
    leave_processes()
    if callback.stopped:
        raise Stopped(f"stopped after step {trainer.state.global_step} of {context.config.steps}")


def _run(context: Context, trainer: Trainer, callback: RecordsCallback, *, lora: bool) -> None:
    """Train. A scorer that fails, and a stop while it is waited for, leave a checkpoint of the last whole step."""
    try:
        trainer.train(resume_from_checkpoint=_resume_from(context, lora=lora))
    except (ScorerFailed, Interrupted, PeerFailed) as error:
        kind = error.kind if isinstance(error, PeerFailed) else type(error)
        if not issubclass(kind, ScorerFailed | Interrupted):
            raise PeerLost(f"the first process failed: {kind.__name__}") from error
        is_saved = callback.give_up(trainer.state)
        if isinstance(error, ScorerFailed):
            raise
        if issubclass(kind, ScorerFailed):
            raise PeerLost("the scorer failed") from error
        if not is_saved:
            raise Interrupted from error
        callback.stopped = True


def _reference(context: Context, args: trl.GRPOConfig, lora: BaseLoraConfig | None) -> nn.Module | None:
    """Return the base model for the KL term, in this process's device; None if TRL needs none, or changes its own.

    It is the evaluator's, unless it will be split over processes.
    """
    is_changed = args.sync_ref_model or args.cast_lm_head_to_fp32
    if lora is not None or args.beta == 0 or is_changed:
        return None
    context.evaluator.to(context.loaded.device)
    is_split = section(context.config).sharding == "fsdp"
    return context.evaluator.base_copy(context.loaded.device) if is_split else context.evaluator.base


def _centre(context: Context, processes: ProcessGroup, lora: BaseLoraConfig | None, *, is_shared: bool) -> Centre:
    loaded, sharding = context.loaded, section(context.config).sharding
    is_other = lora is not None or loaded.dtype != torch.float32 or sharding != "none"
    return Centre(
        loaded,
        context.evaluator,
        processes,
        # Captured steps join the tensors of their model, which no trainer expects of its own.
        needs_copy=is_other or loaded.device.type == "cuda",
        reference_is_shared=is_shared,
        stays=_centre_stays(loaded, context.config.compute.gpu_share or 1.0),
    )


def _centre_stays(loaded: Loaded, share: float) -> bool:
    """Return whether the model for evaluations stays on this share of the GPU, as the memory plan assumes."""
    if loaded.device.type != "cuda":
        return False
    sizes = ModelSizes.from_config(loaded.model.config.to_dict(), loaded.dtype.itemsize)
    card = int(torch.cuda.get_device_properties(loaded.device).total_memory)
    return centre_stays(sizes, int(share * card))


def _trainer(
    context: Context,
    args: trl.GRPOConfig,
    rewards: Rewards,
    examples: Sequence[Example],
    lora: BaseLoraConfig | None,
    reference: nn.Module | None,
) -> Trainer:
    settings = section(context.config)
    recorder = CompletionRecorder(
        rewards, examples, context.prompts, every=settings.completions_every, group_size=args.num_generations,
        write=context.records.write,
    )  # fmt: skip
    trainer = Trainer(
        prompts=context.prompts,
        recorder=recorder,
        reference=reference,
        model=_trained_model(context, lora),
        reward_funcs=rewards,
        args=args,
        train_dataset=prompt_rows(context.prompts, examples, prompts_needed(args), context.config.seed),
        processing_class=context.loaded.tokenizer,
        peft_config=_adapter(lora) if lora else None,
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _trained_model(context: Context, lora: BaseLoraConfig | None) -> Any:
    """Return the model to train: the base model with an adapter, or float32 weights.

    Weights that will be split over processes must be those of the checkpoint before that.
    """
    model = context.loaded.model
    if lora is not None:
        return model
    # Updates of a usual learning rate are too small for 16 bits: the master is float32, autocast does the rest.
    model = model.float().requires_grad_(True)
    if context.resume is not None and section(context.config).sharding == "fsdp":
        weights = trained_weights(state_folder(context.resume, lora=False))
        saved = AutoModelForCausalLM.from_pretrained(weights, dtype=torch.float32, use_safetensors=True)
        model.load_state_dict(saved.state_dict())
    return model


def _evaluate(
    context: Context,
    processes: ProcessGroup,
    centre: Centre,
    trainer: Trainer,
    callback: RecordsCallback,
    step: int,
) -> None:
    """Evaluate the weights in the first process, while the others wait. Raise Interrupted in all."""
    with centre.evaluated(trainer.model) as model:
        decoder = centre.decoder(model)
        try:
            processes.run_in_first(lambda: context.evaluate(step, model, callback.axes(), decoder) and None)
        except PeerFailed as error:
            if issubclass(error.kind, Interrupted):
                raise Interrupted from error
            raise PeerLost(f"the first process failed: {error.kind.__name__}") from error


def prompt_rows(prompts: PromptFormat, examples: Sequence[Example], count: int, seed: int) -> Dataset:
    """Return the run's prompts in the order they are drawn: one shuffle of all examples after another.

    TRL would shuffle again at each epoch from its generator's present state, which a resume cannot restore, and would
    drop prompts that do not fill a batch: a task with fewer prompts than a batch could not be trained at all.
    """
    rng = np.random.default_rng(seed)
    rounds = -(-count // len(examples))
    order = np.concatenate([rng.permutation(len(examples)) for _ in range(rounds)])[:count]
    rows = [{"prompt": prompts.text(example.messages), "example": i} for i, example in enumerate(examples)]
    return Dataset.from_list(rows).select(order)


def _adapter(lora: BaseLoraConfig) -> peft.LoraConfig:
    return peft.LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, target_modules=list(lora.targets), task_type="CAUSAL_LM", lora_dropout=0.0
    )


def _resume(context: Context, checkpoint: Path, trainer: trl.GRPOTrainer, *, lora: bool) -> None:
    """Restore what TRL itself does not, and record how exactly the run continues."""
    reasons = [*inexact_reasons(trainer.args)]
    if not restore_generation(trainer, checkpoint, lora=lora):
        reasons.append("the completions that several steps share are sampled again")
    context.alert("info", resume_message(step_of(checkpoint), reasons), step_of(checkpoint))


def _resume_from(context: Context, *, lora: bool) -> str | None:
    return str(state_folder(context.resume, lora=lora)) if context.resume else None
