"""The part of an engine that runs in each of vLLM's workers, one per GPU: vLLM mixes this class into its own.

With one GPU the worker is in the engine's process. With several, each is a process of its own, and what these methods
take and return is pickled. Names begin with `es_`, because vLLM refuses a class whose names are its own.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from workers.engines.es.noise import Noise
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.trainable import WholeModel
from workers.engines.es.vllm.copy_plan import CopyPlan, UntrainableModel, owners
from workers.engines.es.vllm.copy_recorder import record_plan
from workers.engines.es.vllm.rank_weights import RankSetup, RankWeights
from workers.engines.es.vllm.setup import VllmSetup
from workers.engines.es.vllm.tensor_files import open_tensors, weight_files


class WorkerExtension:
    """Methods of a worker for `collective_rpc`. Each returns once its GPU is done, so that seconds can be counted."""

    rank: int

    def es_record(self, setup: VllmSetup, folder: Path) -> tuple[CopyPlan | None, str]:
        """Return the copies that vLLM's loader makes for this rank; or None, and why the model cannot be trained."""
        # A worker outlives the signals of the job as its engine does, and ends with it.
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        model: Any = self.get_model()  # type: ignore[attr-defined]
        with open_tensors(weight_files(folder)) as files:
            try:
                self.es_plan = record_plan(model, files.shapes(), setup.names, _dtype(setup))
            except UntrainableModel as error:
                return None, error.problems[0].message
        return self.es_plan, ""

    @torch.no_grad()
    def es_load(
        self, setup: VllmSetup, folder: Path, checkpoint: Path | None, plans: Sequence[CopyPlan],
        noise: Noise, sigma: float, scales: Mapping[str, float], is_anchored: bool,
    ) -> None:  # fmt: skip
        """Load the base model, or a checkpoint of it, and write the centre. Raise NotResumable. `plans`: all ranks'."""
        model: Any = self.get_model()  # type: ignore[attr-defined]
        dtype = _dtype(setup)
        self.es_weights = RankWeights(
            plans[self.rank],
            {name: parameter for name, parameter in model.named_parameters() if parameter.numel()},
            Perturbation(noise, sigma, scales),
            RankSetup(dtype, owners(plans)[self.rank], is_anchored, setup.master_on_host),
        )
        with open_tensors(weight_files(folder)) as files:
            self.es_weights.load_base(files)
        if checkpoint is not None:
            is_exact = dtype == torch.float32
            with open_tensors(weight_files(checkpoint) if is_exact else [checkpoint / WholeModel.MASTER]) as files:
                self.es_weights.load_master(files)
        self.es_write_centre()

    @torch.no_grad()
    def es_write_centre(self) -> None:
        """Write cast(master) into the parameters."""
        self.es_weights.write_centre()
        _wait()

    @torch.no_grad()
    def es_write_member(self, seed: int) -> None:
        """Write cast(master + σ s ε) into the parameters."""
        self.es_weights.write_member(seed)
        _wait()

    @torch.no_grad()
    def es_update(self, directions: Mapping[int, float], decay: float) -> tuple[float, float]:
        """Update the master and write the centre. Return the norm and the distance of what this rank counts."""
        norms = self.es_weights.update(directions, decay)
        _wait()
        return norms

    def es_hash(self) -> str:
        """Return a hash of every bit of this rank's weights."""
        return self.es_weights.hash()

    def es_save(self, files: Sequence[Path], dtype: torch.dtype) -> None:
        """Write this rank's masters, cast to a type, into its own of the files."""
        self.es_weights.save(files[self.rank], dtype)


def _dtype(setup: VllmSetup) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, setup.dtype)
    return dtype


def _wait() -> None:
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()
