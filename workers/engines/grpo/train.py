"""The training: RunConfig in, TRL's GRPOTrainer runs, records out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import peft
import trl
from datasets import Dataset
from transformers import PrinterCallback

from workers.config import BaseLoraConfig
from workers.engines.context import Context, Stopped, step_of
from workers.engines.grpo.arguments import arguments, prompts_needed, section
from workers.engines.grpo.callback import RecordsCallback
from workers.engines.grpo.centre import Centre
from workers.engines.grpo.checkpoint import Progress, read_progress, restore_generation, state_folder, write_state
from workers.engines.grpo.exactness import inexact_reasons, resume_message
from workers.engines.grpo.rewards import Rewards
from workers.engines.grpo.trainer import Trainer
from workers.engines.stop import Interrupted
from workers.models import PromptFormat
from workers.scorer.client import ScorerFailed
from workers.tasks import Example


def train(context: Context) -> None:
    """Train to the last step. Raise Stopped and ScorerFailed after a checkpoint, ConfigError, RewardFailed."""
    args = arguments(context.config, context.loaded, context.directory)
    lora = section(context.config).lora
    examples = context.task.examples("train")
    progress = Progress()
    if context.resume is not None:
        progress = read_progress(context.resume, context.loaded.gpus, lora=lora is not None)
    rewards = Rewards(context.task, examples, args.num_generations, progress.multiplier)
    rewards.tokens, rewards.samples, rewards.mean = progress.tokens, progress.samples, progress.reward

    centre = Centre(context.loaded, lora=lora is not None)
    trainer = _trainer(context, args, rewards, examples, lora)
    callback = RecordsCallback(
        context,
        rewards,
        progress,
        centre=lambda: centre.current(trainer.model),
        save=lambda step: _save(context, trainer, centre, progress, step, lora=lora is not None),
    )
    trainer.add_callback(callback)
    if context.resume is None:
        context.evaluate(0, centre.current(trainer.model), callback.axes())
    else:
        _resume(context, context.resume, trainer, lora=lora is not None)
    context.status("training", progress=0.0 if context.resume is None else None)
    _run(context, trainer, callback, lora=lora is not None)
    if callback.stopped:
        raise Stopped(f"stopped after step {trainer.state.global_step} of {context.config.steps}")


def _run(context: Context, trainer: trl.GRPOTrainer, callback: RecordsCallback, *, lora: bool) -> None:
    """Train. A scorer that fails, and a stop while it is waited for, leave a checkpoint of the last whole step."""
    try:
        trainer.train(resume_from_checkpoint=_resume_from(context, lora=lora))
    except ScorerFailed:
        callback.give_up(trainer.state)
        raise
    except Interrupted:
        if not callback.give_up(trainer.state):
            raise
        callback.stopped = True


def _trainer(
    context: Context, args: trl.GRPOConfig, rewards: Rewards, examples: Sequence[Example], lora: BaseLoraConfig | None
) -> trl.GRPOTrainer:
    model = context.loaded.model
    if lora is None:
        # Updates of a usual learning rate are too small for 16 bits: the master is float32, autocast does the rest.
        model = model.float().requires_grad_(True)
    trainer = Trainer(
        prompts=context.prompts,
        model=model,
        reward_funcs=rewards,
        args=args,
        train_dataset=_dataset(context.prompts, examples, prompts_needed(args), context.config.seed),
        processing_class=context.loaded.tokenizer,
        peft_config=_adapter(lora) if lora else None,
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _dataset(prompts: PromptFormat, examples: Sequence[Example], count: int, seed: int) -> Dataset:
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


def _save(
    context: Context, trainer: trl.GRPOTrainer, centre: Centre, progress: Progress, step: int, *, lora: bool
) -> None:
    """Save the float32 master without an adapter, since a resume continues from it; with one, the merged weights."""
    model = centre.current(trainer.model) if lora else trainer.model
    context.checkpoint(step, model, lambda folder: write_state(trainer, progress, folder, lora=lora))


def _resume(context: Context, checkpoint: Path, trainer: trl.GRPOTrainer, *, lora: bool) -> None:
    """Restore what TRL itself does not, and record how exactly the run continues."""
    reasons = [*inexact_reasons(trainer.args)]
    if not restore_generation(trainer, checkpoint, lora=lora):
        reasons.append("the completions that several steps share are sampled again")
    context.alert("info", resume_message(step_of(checkpoint), reasons), step_of(checkpoint))


def _resume_from(context: Context, *, lora: bool) -> str | None:
    return str(state_folder(context.resume, lora=lora)) if context.resume else None
