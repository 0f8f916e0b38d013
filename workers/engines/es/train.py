"""Evolution Strategies at the scale of language models (Qiu et al., "Evolution Strategies at Scale", arXiv 2509.24372).

    for each iteration t:
        εᵢ   noise of member i, a pure function of (run seed, t, i)             i = 1 … N
        rᵢ   mean reward of the greedy answers of cast(θ + σ εᵢ) to the iteration's prompts
        zᵢ   (rᵢ − mean r) / std r, or centred ranks; all 0 where the rewards are all equal
        θ  ← θ + (α / N) Σ zᵢ εᵢ

As in the paper there is no optimiser, no weight decay and no 1/σ, which α has swallowed. Unlike its code, θ is a
float32 master from which members are always written anew, the noise of different tensors is independent, and the
answer alone is scored. Nothing random is carried from one iteration to the next: a resumed run goes on bit for bit.

    python -m workers.train run.json --out DIR        with "method": "es"
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import torch

from workers.config import EsConfig
from workers.engines.context import Context, Stopped
from workers.engines.es.fitness import Fitness, judge
from workers.engines.es.noise import Noise
from workers.engines.es.perturbation import Perturbation, directions, scales_of
from workers.engines.es.population import Population
from workers.engines.es.replay_log import ReplayLog
from workers.engines.es.report import Iteration, report
from workers.engines.es.seeds import member_seeds, prompt_subset
from workers.engines.es.shaping import shaped
from workers.engines.es.state import State
from workers.engines.es.trained import Trained, trained
from workers.models import chat_text
from workers.models.decoder import Completion, Decoder
from workers.tasks import Example


@torch.no_grad()
def train(context: Context) -> None:
    """Trains to the last iteration. Raises Stopped after a checkpoint where asked to stop, and RewardFailed."""
    es, seed = section(context), context.config.seed
    what = trained(context.loaded, es.lora, seed)
    state = _begin(context, what, es)
    perturbation = Perturbation(Noise(es.noise, es.rank), es.sigma, state.scales)
    population = Population(what, perturbation, Decoder(what.model, context.loaded.tokenizer, es.rows), es)
    examples = context.task.examples("train")

    with ReplayLog(context.directory) as replay_log:
        replay_log.start(state, context.loaded, es, seed)
        while state.step < es.iterations:
            began, step = time.perf_counter(), state.step + 1
            seeds = member_seeds(seed, step, es.population, antithetic=es.antithetic)
            asked = [examples[i] for i in prompt_subset(seed, step, es.prompts, len(examples))]

            answers = _answers(context, what, state, population, seeds, asked)
            fitness = [judge(context, step, s, asked, a) for s, a in zip(seeds, answers, strict=True)]
            z = _weights(fitness, es)
            update = directions(seeds, z, es.alpha)
            norm = perturbation.step(update, what.master)
            what.write(what.master.__getitem__)

            replay_log.iteration(step, update)
            report(context, state, Iteration(step, seeds, answers, fitness, z, norm, time.perf_counter() - began))
            if context.due(step):
                context.evaluate(step, what.model, state.axes)
            if step == es.iterations or (es.checkpoint_every and step % es.checkpoint_every == 0):
                _save(context, what, state)


def section(context: Context) -> EsConfig:
    """The es section of the config, which a run of this method has."""
    if context.config.es is None:
        raise ValueError("the config has no es section")
    return context.config.es


def _begin(context: Context, what: Trained, es: EsConfig) -> State:
    """The state of a fresh run, its base model evaluated; or of the checkpoint to go on from, its weights loaded."""
    if context.resume is not None:
        state = State.load(context.resume)
        what.load(context.resume)
        return state
    state = State(scales=scales_of(what.master, es.layer_scale))
    context.evaluate(0, what.model, state.axes)
    return state


def _answers(
    context: Context,
    what: Trained,
    state: State,
    population: Population,
    seeds: Sequence[int],
    asked: Sequence[Example],
) -> list[list[Completion]]:
    """All members' answers. Asked to stop, it gives the iteration up, which may take longer than a kill waits."""
    prompts = [chat_text(context.loaded.tokenizer, example.messages) for example in asked]
    answers: list[list[Completion]] = []
    for batch in population.answers(seeds, prompts):
        answers.extend(batch)
        if context.stop.is_set():
            _save(context, what, state)
            raise Stopped(f"stopped after iteration {state.step} of {context.config.steps}")
    return answers


def _weights(fitness: Sequence[Fitness], es: EsConfig) -> list[float | None]:
    """Each member's z, None for a dropped one. Raises AllDropped where there is nothing to compare."""
    rewards = [f.reward for f in fitness if not f.dropped]
    if not rewards:
        raise AllDropped("the rewards of all members failed, so that there is nothing to learn from")
    z = iter(shaped(rewards, es.shaping))
    return [None if f.dropped else next(z) for f in fitness]


def _save(context: Context, what: Trained, state: State) -> None:
    def more(folder: Path) -> None:
        what.save(folder)
        state.save(folder)

    context.checkpoint(state.step, what.model, more)


class AllDropped(RuntimeError):
    """Every member of an iteration was dropped."""
