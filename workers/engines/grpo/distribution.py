"""TRL's GRPOTrainer with each copy of the model held once, and with state that several processes save and load."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import torch
import trl
from accelerate.utils import save_fsdp_optimizer
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy
from transformers.trainer import SCHEDULER_NAME
from trl.models import prepare_fsdp
from trl.trainer.utils import add_fused_lm_head

from workers.checkpoint_folders import TRAINER


class DistributedTrainer(trl.GRPOTrainer):  # type: ignore[misc]
    """TRL's trainer. `reference` is the frozen base model, in the precision of the base, for the KL term.

    Without it, TRL would load the base model once more, in float32.
    """

    def __init__(self, args: trl.GRPOConfig, reference: nn.Module | None = None, **arguments: Any) -> None:
        beta = args.beta
        if reference is not None:
            # With 0, TRL loads no reference model.
            args.beta = 0.0
        super().__init__(args=args, **arguments)
        if self.is_fsdp_enabled:
            plugin = self.accelerator.state.fsdp_plugin
            if plugin.mixed_precision_policy is not None:
                plugin.mixed_precision_policy = exact_policy(plugin.mixed_precision_policy)
        if reference is not None:
            self.beta = args.beta = beta
            self.ref_model = self._prepare_reference(reference)

    def save_state(self, folder: Path) -> None:
        """Write optimizer, schedule, loss scale and random streams. All processes call it with the same folder."""
        if self.is_fsdp_enabled:
            # Trainer would save the weights a second time.
            plugin = self.accelerator.state.fsdp_plugin
            save_fsdp_optimizer(plugin, self.accelerator, self.optimizer, self.model, str(folder))
            if self.args.should_save:
                torch.save(self.lr_scheduler.state_dict(), folder / SCHEDULER_NAME)
        else:
            # Trainer writes these itself only under its own folder names and without the record of what was saved.
            self._save_optimizer_and_scheduler(str(folder))
        self._save_rng_state(str(folder))
        self._save_scaler(str(folder))

    def _prepare_reference(self, reference: nn.Module) -> nn.Module:
        add_fused_lm_head(reference, temperature=self.temperature)
        if self.is_fsdp_enabled:
            # It casts the weights of both models, embeddings too, to the same precision.
            return self._split_reference(reference)
        embeddings = reference.get_input_embeddings()  # type: ignore[operator]
        embeddings.register_forward_hook(_match_master)
        return reference

    def _split_reference(self, reference: nn.Module) -> nn.Module:
        """Return the reference, split over the processes again after each pass: no backward pass would do it."""
        plugin = self.accelerator.state.fsdp_plugin
        before, plugin.reshard_after_forward = plugin.reshard_after_forward, True
        try:
            return prepare_fsdp(reference, self.accelerator)  # type: ignore[no-any-return]
        finally:
            plugin.reshard_after_forward = before

    def _wrap_model(self, model: nn.Module, **arguments: Any) -> nn.Module:
        """Return the model as Trainer wraps it, its gradients being views of what is sent: not one more copy."""
        wrapped: nn.Module = super()._wrap_model(model, **arguments)
        if (handler := getattr(self.accelerator, "ddp_handler", None)) is not None:
            handler.gradient_as_bucket_view = True
        return wrapped

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        """Load the weights of a checkpoint, unless they are split: then the model had them before it was split."""
        if not self.is_fsdp_enabled:
            super()._load_from_checkpoint(str(trained_weights(Path(resume_from_checkpoint))), model)


def trained_weights(state: Path) -> Path:
    """Return the folder of the weights or the adapter that a training continues, from that of the trainer's state: the
    same, or, if those of the checkpoint are exactly these, the checkpoint's."""
    if state.name != TRAINER or any(state.glob("*.safetensors")):
        return state
    adapter = state.with_name("adapter")
    return adapter if adapter.is_dir() else state.parent


def exact_policy(policy: MixedPrecisionPolicy) -> MixedPrecisionPolicy:
    """Return the policy with each module's output as it is computed, and with gradients summed in float32.

    accelerate's policy rounds outputs to bfloat16, log probabilities too: those of about −10 would be off by up to
    0.03, and each ratio of two policies by 3 %.
    """
    return dataclasses.replace(policy, output_dtype=None, reduce_dtype=torch.float32)


def _match_master(module: nn.Module, inputs: Any, output: torch.Tensor) -> torch.Tensor | None:
    """Return embeddings in float32 under autocast, as the float32 master has them, so that the rest of the forward pass
    computes in the same precision, and model and reference are equal while their weights are."""
    return output.float() if torch.is_autocast_enabled(output.device.type) else None
