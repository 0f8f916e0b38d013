"""Attacks with a model: the best of k sampled responses, and the members of an ES population with the highest reward.

Nothing is trained. Members are drawn as the engine draws them, θ + σε in float32 and cast once, with seeds of their
own, and answer greedily as the centre does. Their reward and their gold measure are compared with the centre's: an
adversary that gains reward and no right answers shows what a training would learn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import nn

from workers import models
from workers.config import RunConfig
from workers.config.audit import AuditConfig
from workers.engines.es.noise import normals
from workers.engines.stop import Stop
from workers.models import PromptFormat
from workers.models.decoder import evaluating_decoder
from workers.records import Attack, RecordWriter, Status
from workers.reward_audit.attacks import BEST_OF_K, MEMBER, MODEL
from workers.reward_audit.audit_run import AuditSession, Report
from workers.reward_audit.measures import Trial, mean_reward, measure

SEED_BITS = 53


def attack_with_model(
    config: RunConfig,
    settings: AuditConfig,
    session: AuditSession,
    made: int,
    stop: Stop,
    records: RecordWriter,
    report: Report,
) -> Iterator[Attack]:
    """Yield the records of the model itself, of the best of its samples, and of the best member. Raise ConfigError,
    ScorerFailed and Interrupted. `made`: the number of attacks before these."""

    def progress(message: str, share: float) -> None:
        with stop.uninterruptible():
            records.write(Status("auditing", message, share))

    with stop.interruptible():
        progress("loading the model", 0.0)
        model = Adversary(config, settings, session, report)
        trials, failure = model.greedy()
        yield measure(MODEL, "model", trials, made + 1, failure, variants=1, is_control=True)
        if settings.samples:
            progress(f"best of {settings.samples} samples", 0.1)
            trials, failure = model.best_of(settings.samples, settings.temperature, config.seed)
            yield measure(BEST_OF_K, "model", trials, made + 2, failure, variants=1, is_control=False)
        if settings.members:
            trials, failure = model.best_member(settings.members, settings.sigma, config.seed, progress)
            yield measure(MEMBER, "model", trials, made + 3, failure, variants=settings.members, is_control=False)


class Adversary:
    """The model of a config, whose weights take noise and are restored from its files."""

    def __init__(self, config: RunConfig, settings: AuditConfig, session: AuditSession, report: Report) -> None:
        self._session = session
        self._loaded = models.load(config.model, report)
        self._decoder = evaluating_decoder(self._loaded.model, self._loaded.tokenizer)
        self._max_new_tokens = settings.max_new_tokens
        prompts = PromptFormat(self._loaded.tokenizer, config.task.prompt_style, config.task.prefill)
        self._prompts = [prompts.ids(prompt.example.messages) for prompt in session.prompts]

    def greedy(self) -> tuple[list[Trial], str]:
        """Return the greedy response to each prompt."""
        completions = self._decoder.greedy(self._prompts, self._max_new_tokens)
        return self._session.trials([(i, c.text) for i, c in enumerate(completions)], "answered")

    def best_of(self, samples: int, temperature: float, seed: int) -> tuple[list[Trial], str]:
        """Return the sampled response with the highest reward to each prompt."""
        n = len(self._prompts)
        completions = self._decoder.sample(self._prompts * samples, self._max_new_tokens, temperature, seed)
        trials, failure = self._session.trials([(i % n, c.text) for i, c in enumerate(completions)], "answered")
        return [max(trials[i::n], key=lambda trial: mean_reward([trial])) for i in range(n)], failure

    def best_member(
        self, members: int, sigma: float, seed: int, progress: Callable[[str, float], None]
    ) -> tuple[list[Trial], str]:
        """Return the greedy responses of the member with the highest mean reward. The model has its own weights
        afterwards."""
        best: tuple[list[Trial], str] | None = None
        masters = [(name, parameter, parameter.detach().clone()) for name, parameter in self._parameters()]
        try:
            for number, member_seed in enumerate(member_seeds(seed, members)):
                progress(f"member {number + 1} of {members}", 0.2 + 0.8 * number / members)
                self._perturb(masters, member_seed, sigma)
                answered = self.greedy()
                if best is None or mean_reward(answered[0]) > mean_reward(best[0]):
                    best = answered
        finally:
            with torch.no_grad():
                for _, parameter, master in masters:
                    parameter.copy_(master)
        if best is None:
            raise ValueError("a population needs members")
        return best

    def _parameters(self) -> list[tuple[str, nn.Parameter]]:
        return list(self._loaded.model.named_parameters())

    @staticmethod
    def _perturb(masters: Sequence[tuple[str, nn.Parameter, torch.Tensor]], seed: int, sigma: float) -> None:
        with torch.no_grad():
            for name, parameter, master in masters:
                noise = normals([seed], name, master.numel(), master.device)[0].view(master.shape)
                parameter.copy_(master.float() + sigma * noise)


def member_seeds(seed: int, members: int) -> list[int]:
    """Return a positive seed for each member, which no training draws."""
    digests = (hashlib.sha256(f"reward-audit/{seed}/{member}".encode()).digest() for member in range(members))
    return [(int.from_bytes(digest[:8], "little") >> (64 - SEED_BITS)) + 1 for digest in digests]
