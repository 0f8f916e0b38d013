"""Evolution Strategies at the scale of language models (Qiu et al., "Evolution Strategies at Scale", arXiv 2509.24372).

    for each iteration t:
        εᵢ   noise of member i, a pure function of (run seed, t, i)             i = 1 … N
        rᵢ   mean reward of the greedy answers of cast(θ + σ εᵢ) to the iteration's prompts
        zᵢ   (rᵢ − mean r) / std r, or centred ranks; all 0 where the rewards are all equal
        θ  ← θ + (α / N) Σ zᵢ εᵢ

As in the paper there is no optimiser, no weight decay and no 1/σ, which α has swallowed. Unlike its code, θ is a
float32 master from which members are always written anew, the noise of different tensors is independent, and the
answer alone is scored. Nothing random is carried from one iteration to the next: a resumed run goes on bit for bit.

A task with a cost C has the fitness mean R − λ · mean C. After its members the unperturbed θ answers the same prompts,
and their cost moves the λ of the next iteration; both are in every checkpoint and line of the replay log.

    python -m workers.train run.json --out DIR        with "method": "es"
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from workers.config import EsConfig, encode
from workers.engines.constraint import Constraint
from workers.engines.context import Context, Stopped
from workers.engines.es.fitness import Fitness, judge, scores_of
from workers.engines.es.lineage import NoiseKind, Origin
from workers.engines.es.perturbation import Perturbation, directions, scales_of
from workers.engines.es.population import Population
from workers.engines.es.replay_log import ReplayLog
from workers.engines.es.report import Iteration, advance, report
from workers.engines.es.seeds import member_seeds, prompt_subset
from workers.engines.es.shaping import shaped
from workers.engines.es.state import State
from workers.engines.es.trained import Trained, trained
from workers.engines.resuming import NotResumable
from workers.engines.stopping import Interrupted
from workers.models.decoder import Completion, Decoder
from workers.models.save import weights_sha256
from workers.scorer.client import ScorerFailed
from workers.tasks import Example, Known

RESUMED = (
    "goes on from iteration {step} exactly: the weights are those of the checkpoint, and the members and prompts of an "
    "iteration depend on the run's seed and its number alone. On the same machine with the same number of cores the "
    "run ends with the bits of one that was never stopped."
)


@torch.no_grad()
def train(context: Context) -> None:
    """Trains to the last iteration. Raises Stopped and ScorerFailed after a checkpoint, and RewardFailed."""
    es = section(context)
    what = trained(context.loaded, es.lora, context.config.seed)
    noise = NoiseKind(es.noise, es.rank)
    with ReplayLog(context.directory, noise) as replay_log:
        training = _Training(context, es, what, _state(context, what, es), noise, replay_log)
        try:
            training.begin()
            training.run()
        except Interrupted:
            training.give_up()
            raise Stopped(f"stopped after iteration {training.state.step} of {es.iterations}") from None
        except ScorerFailed:
            # Nothing is wrong with the run: it goes on from here once there is a scorer.
            training.give_up()
            raise


def section(context: Context) -> EsConfig:
    """The es section of the config, which a run of this method has."""
    if context.config.es is None:
        raise ValueError("the config has no es section")
    return context.config.es


def _state(context: Context, what: Trained, es: EsConfig) -> State:
    """The state of a fresh run; or of the checkpoint to go on from, its weights loaded. Raises NotResumable."""
    # As it comes back from JSON.
    lora = None if es.lora is None else encode(es.lora) | {"targets": list(es.lora.targets)}
    dtype = str(context.loaded.dtype).removeprefix("torch.")
    base = weights_sha256(context.loaded.path)
    # Rounded: the mean square of a large tensor differs in its last bits between devices and numbers of threads.
    scales = {name: float(np.float32(scale)) for name, scale in scales_of(what.master, es.layer_scale).items()}
    origin = Origin(base, dtype, context.config.seed, lora, scales)
    if context.resume is None:
        return State.first(origin)
    state = State.load(context.resume)
    _refuse_another_origin(context.resume, state.origin, origin)
    what.load(context.resume)
    return state


def _refuse_another_origin(checkpoint: Path, saved: Origin, ours: Origin) -> None:
    """The seed may be another, and the scales are the checkpoint's; what the weights are made of must be the same."""
    if saved.base_sha256 != ours.base_sha256:
        raise NotResumable(
            f"{checkpoint} was trained from another base model: the sha256 of its weights was {saved.base_sha256}, "
            f"that of model.path is {ours.base_sha256}"
        )
    if saved.dtype != ours.dtype:
        raise NotResumable(f"{checkpoint} was trained in {saved.dtype}, not {ours.dtype}: set model.dtype to it")
    if saved.lora != ours.lora:
        raise NotResumable(f"{checkpoint} was trained with es.lora {saved.lora}, not {ours.lora}")


@dataclass
class _Training:
    """The loop. What is cut short by Interrupted has changed neither the master nor the state."""

    context: Context
    es: EsConfig
    what: Trained
    state: State
    noise: NoiseKind
    replay_log: ReplayLog

    def begin(self) -> None:
        """Says where the training starts, and makes the evaluation that is due there."""
        context, step = self.context, self.state.step
        self.replay_log.start(self.state, context.loaded.path)
        if context.resume is not None:
            context.alert("info", RESUMED.format(step=step), step)
        if context.resume is None or context.is_evaluation_due():
            context.evaluate(step, self.what.model, self.state.axes)

    def run(self) -> None:
        """Iterates to the end."""
        context, es, loaded = self.context, self.es, self.context.loaded
        perturbation = Perturbation(self.noise.noise(), es.sigma, self.state.origin.scales)
        decoder = Decoder(self.what.model, loaded.tokenizer, es.rows)
        population = Population(self.what, perturbation, decoder, es)
        examples = context.task.examples("train")
        while self.state.step < es.iterations:
            self._iterate(population, perturbation, examples)
            if context.due(self.state.step):
                context.evaluate(self.state.step, self.what.model, self.state.axes)
            if self.state.step == es.iterations or (es.checkpoint_every and self.state.step % es.checkpoint_every == 0):
                self.save()

    def give_up(self) -> None:
        """Saves the last whole iteration. What was cut short may have left a member in the model."""
        self.what.write(self.what.master.__getitem__)
        self.save()

    def save(self) -> None:
        """A checkpoint of the state. The log is on disk before it."""

        def more(folder: Path) -> None:
            self.what.save(folder)
            self.state.save(folder)

        self.replay_log.flush()
        self.context.checkpoint(self.state.step, self.what.model, more)

    def _iterate(self, population: Population, perturbation: Perturbation, examples: Sequence[Example]) -> None:
        context, es, state, seed = self.context, self.es, self.state, self.context.config.seed
        began, step = time.perf_counter(), state.step + 1
        seeds = member_seeds(seed, step, es.population, antithetic=es.antithetic)
        asked = [examples[i] for i in prompt_subset(seed, step, es.prompts, len(examples))]

        answers = _answers(context, population, seeds, asked)
        constraint = Constraint.of(context.task, state.multiplier)
        known: Known = {}
        fitness = _fitness(context, constraint, step, seeds, asked, answers, known)
        centre = _centre(context, constraint, population, asked)
        measured = constraint.measured(scores_of(context, asked, centre, known) if centre else [])
        z = _weights(fitness, es)
        update = directions(seeds, z, es.alpha)
        norm = perturbation.step(update, self.what.master)
        self.what.write(self.what.master.__getitem__)

        seconds = time.perf_counter() - began
        done = Iteration(step, seeds, answers, fitness, z, norm, seconds, centre, measured)
        advance(context, state, done)
        state.lineage = self.replay_log.update(state, update)
        report(context, state, done)


def _answers(
    context: Context, population: Population, seeds: Sequence[int], asked: Sequence[Example]
) -> list[list[Completion]]:
    """All members' answers. Asked to stop, it gives the iteration up, which may take longer than a kill waits."""
    prompts = [context.prompts.ids(example.messages) for example in asked]
    with context.stop.cuts():
        return [member for batch in population.answers(seeds, prompts) for member in batch]


def _centre(
    context: Context, constraint: Constraint, population: Population, asked: Sequence[Example]
) -> list[Completion]:
    """What the unperturbed weights answer, which λ goes by; nothing where there is no λ."""
    if constraint.multiplier is None:
        return []
    with context.stop.cuts():
        return population.centre([context.prompts.ids(example.messages) for example in asked])


def _fitness(
    context: Context,
    constraint: Constraint,
    step: int,
    seeds: Sequence[int],
    asked: Sequence[Example],
    answers: Sequence[Sequence[Completion]],
    known: Known,
) -> list[Fitness]:
    fitness = []
    for seed, of_member in zip(seeds, answers, strict=True):
        context.stop.check()
        fitness.append(judge(context, constraint, step, seed, asked, of_member, known))
    return fitness


def _weights(fitness: Sequence[Fitness], es: EsConfig) -> list[float | None]:
    """Each member's z, None for a dropped one. Raises AllDropped where there is nothing to compare."""
    rewards = [f.reward for f in fitness if not f.dropped]
    if not rewards:
        raise AllDropped("the rewards of all members failed, so that there is nothing to learn from")
    z = iter(shaped(rewards, es.shaping))
    return [None if f.dropped else next(z) for f in fitness]


class AllDropped(RuntimeError):
    """Every member of an iteration was dropped."""
