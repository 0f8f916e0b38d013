"""The weights of an engine over all its ranks, and the responses that vLLM writes with them."""

from __future__ import annotations

import hashlib
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from workers.config import ConfigError, EsConfig, Problem
from workers.engines.es.engine_group.wire import Decoding, Ids, Saving
from workers.engines.es.noise import make_noise
from workers.engines.es.phases import Phases
from workers.engines.es.trainable import WholeModel
from workers.engines.es.vllm.copy_plan import CopyPlan, check_ranks
from workers.engines.es.vllm.generation import Generator
from workers.engines.es.vllm.rank_weights import join_ranks
from workers.engines.es.vllm.setup import VllmSetup
from workers.engines.es.vllm.tensor_files import SINGLE
from workers.engines.es.weights_hash import DIGITS
from workers.models.decoder import Completion

SCRATCH = ".ranks"


class VllmBackEnd:
    """Members and the centre of one run, written into vLLM's parameters in turn. The centre is there between calls."""

    def __init__(
        self, folder: Path, setup: VllmSetup, es: EsConfig, scales: Mapping[str, float], checkpoint: Path | None
    ) -> None:
        self._setup, self._max_new_tokens = setup, es.max_new_tokens
        # The workers wait for their GPUs, so the clock counts what those do.
        self.phases = Phases(torch.device("cpu"))
        self._generator = Generator(folder, setup)
        self._plans = self._record(folder)
        noise, is_anchored = make_noise(es.noise, es.rank), es.anchor_decay > 0
        self._generator.call_workers(
            "es_load", setup, folder, checkpoint, self._plans, noise, es.sigma, dict(scales), is_anchored
        )

    def answer(
        self,
        seeds: Sequence[int],
        prompts: Ids,
        send: Callable[[list[Completion]], None],
        is_abandoned: Callable[[], bool],
    ) -> None:
        """Send the greedy responses of each member as they are complete, or the centre's if there are no seeds.

        Return early, with the centre written, when they are abandoned.
        """
        for seed in seeds:
            if is_abandoned():
                break
            with self.phases.measure("noise"):
                self._generator.call_workers("es_write_member", seed)
            if not self.generate(prompts, Decoding(self._max_new_tokens), send, is_abandoned):
                break
        if seeds:
            with self.phases.measure("noise"):
                self._generator.call_workers("es_write_centre")
        else:
            self.generate(prompts, Decoding(self._max_new_tokens), send, is_abandoned)

    def generate(
        self,
        prompts: Ids,
        decoding: Decoding,
        send: Callable[[list[Completion]], None],
        is_abandoned: Callable[[], bool],
    ) -> bool:
        """Send the responses of the weights that are written. Return False if they are abandoned."""
        with self.phases.measure("decode"):
            responses = self._generator.respond(prompts, decoding, is_abandoned)
        if responses is None:
            return False
        send(responses)
        return True

    def score(self, prompts: Ids) -> list[dict[int, float]]:
        """Return for each prompt the centre's likeliest next tokens, with the logarithms of their probabilities."""
        return self._generator.likeliest_tokens(prompts)

    def update(self, directions: Mapping[int, float], decay: float) -> tuple[float, float | None]:
        """Update the master as every engine does. Return the norm of the step, and the distance from θ₀ if it is
        held."""
        with self.phases.measure("update"):
            norms, distances = zip(*self._generator.call_workers("es_update", dict(directions), decay), strict=True)
        distance = math.hypot(*distances)
        return math.hypot(*norms), None if math.isnan(distance) else distance

    def weights_hash(self) -> str:
        """Return a hash of all weights on all ranks."""
        hashes = self._generator.call_workers("es_hash")
        return hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest()[:DIGITS]

    def save(self, saving: Saving) -> None:
        """Write the weights, or the master unless the weights are float32 and thus hold it."""
        dtype = torch.float32 if saving.what == "master" else getattr(torch, self._setup.dtype)
        if saving.what == "master" and self._setup.dtype == "float32":
            return
        file = Path(saving.folder) / (WholeModel.MASTER if saving.what == "master" else SINGLE)
        file.parent.mkdir(exist_ok=True)
        if len(self._plans) == 1:
            self._generator.call_workers("es_save", [file], dtype)
            return
        scratch = Path(saving.folder) / SCRATCH
        scratch.mkdir()
        try:
            files = [scratch / f"rank-{rank}.safetensors" for rank in range(len(self._plans))]
            self._generator.call_workers("es_save", files, dtype)
            join_ranks(self._plans, files, dtype, file)
        finally:
            shutil.rmtree(scratch)

    def _record(self, folder: Path) -> list[CopyPlan]:
        plans, problems = zip(*self._generator.call_workers("es_record", self._setup, folder), strict=True)
        for problem in filter(None, problems):
            raise ConfigError([Problem("es.backend", problem)])
        check_ranks(plans)
        return list(plans)
