"""Evolution Strategies at the scale of language models (Qiu et al., "Evolution Strategies at Scale", arXiv 2509.24372).

    for each iteration t:
        εᵢ   noise of member i, a pure function of (run seed, t, i)             i = 1 … N
        rᵢ   mean reward of the greedy answers of cast(θ + σ εᵢ) to the iteration's prompts
        zᵢ   (rᵢ − mean r) / std r, or centred ranks; all 0 where the rewards are all equal
        θ  ← θ + (α / N) Σ zᵢ εᵢ

As in the paper there is no optimiser and no 1/σ, which α has swallowed. Unlike its code, θ is a float32 master from
which members are always written anew, the noise of different tensors is independent, and the answer alone is scored.
Nothing random is carried from one iteration to the next: a resumed run goes on bit for bit.

Several engines may share the members (`engine_group`). Each holds θ and applies every update itself, to the same bits.

es.anchor_decay = λ pulls θ towards θ₀ after every update, also an empty one: θ ← θ − α λ (θ − θ₀) (`anchor.py`).
es.kl_beta = β subtracts β · KL(member ‖ base model) from each fitness (`member_kl.py`).

A task with a cost C has the fitness mean R − λ · mean C. After its members the unperturbed θ answers the same prompts,
and their cost moves the λ of the next iteration; both are in every checkpoint and line of the replay log.

    python -m workers.train run.json --out DIR        with "method": "es"
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from workers.config import EsConfig
from workers.engines.constraint import Constraint
from workers.engines.context import Context, Stopped
from workers.engines.es.adapter_server import AdapterServerFailed
from workers.engines.es.anchor import decay_coefficient
from workers.engines.es.backend import RunWeights
from workers.engines.es.captured_plan import uses_captured_steps
from workers.engines.es.engine_group import RemoteGroup
from workers.engines.es.fitness import Fitness, drops_members, judge, member_weights
from workers.engines.es.lineage import NoiseKind
from workers.engines.es.member_kl import KlPenalty
from workers.engines.es.perturbation import directions
from workers.engines.es.replay_log import ReplayLog
from workers.engines.es.report import Answers, Iteration, advance, report
from workers.engines.es.retention import Retention
from workers.engines.es.scoring import Scoring
from workers.engines.es.seeds import member_seeds, prompt_subset
from workers.engines.es.start import start
from workers.engines.es.state import State
from workers.engines.stop import Interrupted
from workers.models.decoder import unknown_reason
from workers.scorer.client import ScorerFailed
from workers.tasks import Example

FALLBACK = (
    "the native decoder does not know this architecture ({reason}), so transformers decodes one member after another. "
    "With a small model on a CPU this took 1.5 to 9 times as long; the fewer prompts, the longer. To accept this, set "
    "es.backend to transformers; on a GPU, vllm may know it too."
)
STOP_SECONDS = 5.0
"""Seconds to compare weights before a checkpoint that a scheduler waits for."""
REFILLED = (
    "the next response takes the slot of one that has finished, which fills the GPU. Responses may differ in rounding "
    "from those of a run with another number of GPUs; engines that apply the same update still have equal weights. Set "
    "es.refill to false for fixed batches, with which equal GPUs give equal responses."
)
RESUMED = (
    "resumes exactly from iteration {step}: the weights are those of the checkpoint, and the members and prompts of an "
    "iteration depend only on its number and the run's seed. On the same machine with the same number of cores, the "
    "run ends bit for bit like one that was never stopped."
)


@torch.no_grad()
def train(context: Context) -> None:
    """Train to the last iteration. Raise RewardFailed; KlNotFinite; and after a checkpoint Stopped, ScorerFailed and
    AdapterServerFailed."""
    es = context.config.es_section()
    noise = NoiseKind(es.noise, es.rank)
    weights, state, group, penalty = start(context)
    with ReplayLog(context.directory, noise) as replay_log, closing(group) as engines:
        retention = Retention(context.directory, es, state)
        training = _Training(context, es, weights, state, replay_log, engines, penalty, retention)
        try:
            training.begin()
            training.run()
        except Interrupted:
            if not engines.can_answer():
                # Only engines have the weights, and none is ready: the run resumes from its last checkpoint.
                raise
            training.give_up()
            raise Stopped(f"stopped after iteration {training.state.step} of {es.iterations}") from None
        except (ScorerFailed, AdapterServerFailed):
            # Nothing is wrong with the run: it resumes from here once there is a scorer, or a server.
            training.give_up()
            raise
        finally:
            training.alert()


@dataclass
class _Training:
    """The loop. Work that is cut short by Interrupted has changed neither the master nor the state."""

    context: Context
    es: EsConfig
    weights: RunWeights
    state: State
    replay_log: ReplayLog
    engines: RemoteGroup
    penalty: KlPenalty | None
    retention: Retention

    def begin(self) -> None:
        """Record the start of the training, and do the evaluation that is due there."""
        context, step = self.context, self.state.step
        self.replay_log.start(self.state, context.loaded.path)
        self.engines.begin(step, self.state.lineage, context.resume)
        if self.es.backend == "native" and (reason := unknown_reason(context.loaded.model.config)):
            context.alert("warning", FALLBACK.format(reason=reason), step)
        if self.es.refill and uses_captured_steps(context.loaded, self.es):
            context.alert("info", REFILLED, step)
        if context.resume is not None:
            context.alert("info", RESUMED.format(step=step), step)
        if context.config.is_answered_elsewhere:
            self._wait_for_engines()
            with context.stop.interruptible():
                self.weights.check(context)
        if context.resume is None or context.is_evaluation_due():
            self._evaluate()
        self._wait_for_engines()

    def run(self) -> None:
        """Iterate to the end."""
        context, es = self.context, self.es
        examples = context.task.examples("train")
        while self.state.step < es.iterations:
            self._iterate(examples)
            step = self.state.step
            if context.due(step):
                self._evaluate()
            if self._saves_after(step):
                self.save()

    def _wait_for_engines(self) -> None:
        with self.context.stop.interruptible():
            for message in self.engines.wait_for_start():
                self.context.status("loading", message)

    def _evaluate(self) -> None:
        context = self.context
        with context.stop.interruptible():
            model = self.weights.model
        context.evaluate(self.state.step, model, self.state.axes, self.weights.decoder)

    def give_up(self) -> None:
        """Save the last whole iteration. Raise EnginesDiffer."""
        # The interrupted work may have left a member in the model.
        self.weights.restore_centre()
        self.engines.abandon()
        if unequal := self.engines.compare(self.state.step, patience=STOP_SECONDS):
            numbers = ", ".join(map(str, unequal))
            message = f"saved without a comparison with the weights of engine {numbers}, which had no time to stop"
            self.context.alert("warning", message, self.state.step)
        self.save()
        self.engines.close()

    def alert(self) -> None:
        """Record the messages of the engines."""
        for message in self.engines.alerts():
            self.context.alert("warning", message, self.state.step)

    def save(self) -> None:
        """Save a checkpoint of the state, and delete older ones that the log rebuilds. The log is on disk before it."""

        def more(folder: Path) -> None:
            if not self._is_end:
                self.weights.save(folder)
            self.state.save(folder)

        self.replay_log.flush()
        self.engines.checkpoint = self.context.checkpoint(self.state.step, self.weights.checkpoint_model, more)
        self.retention.add(self.state)
        self.retention.delete_older(self.engines.checkpoint)

    @property
    def _is_end(self) -> bool:
        """Return whether nothing is left to do that needs the float32 master, which the log then rebuilds. An adapter
        is saved in any case."""
        is_complete = self.state.step == self.es.iterations and not self.context.owes_evaluation
        return is_complete and self.es.lora is None and self.retention.can_rebuild

    def _saves_after(self, step: int) -> bool:
        every = self.es.checkpoint_every
        return step == self.es.iterations or (every > 0 and step % every == 0)

    def _iterate(self, examples: Sequence[Example]) -> None:
        context, es, state, seed = self.context, self.es, self.state, self.context.config.seed
        began, step = time.perf_counter(), state.step + 1
        seeds = member_seeds(seed, step, es.population, antithetic=es.antithetic)
        examples_used = [examples[i] for i in prompt_subset(seed, step, es.prompts, len(examples))]
        constraint = Constraint.for_task(context.task, state.multiplier)

        with Scoring(context.task, examples_used, keeps_going=drops_members(context)) as scoring:
            answers = self._answers(seeds, examples_used, scoring, with_centre=constraint.multiplier is not None)
            idle = self.engines.idle_seconds()
        fitness = self._judge(step, seeds, examples_used, answers, scoring, constraint)
        constraint_update = constraint.update(scoring.scores(answers.centre) if answers.centre else [])
        z = member_weights(fitness, es)
        update, decay = directions(seeds, z, es.alpha), decay_coefficient(es)
        context.stop.check()
        norm = self.engines.update(step, update, decay)
        distance = self.weights.anchor_distance()
        answers.count_phases(self.engines.take_own_phases())

        seconds = time.perf_counter() - began
        done = Iteration(
            step, seeds, answers, fitness, z, norm, seconds, idle, scoring.seconds, constraint_update, distance,
            self.penalty.seconds if self.penalty is not None else None,
        )  # fmt: skip
        advance(context, state, done)
        state.lineage = self.replay_log.update(state, update, decay)
        self.engines.log(step, state.lineage)
        try:
            if self._saves_after(step) or step % es.hash_every == 0:
                with context.stop.interruptible():
                    self.engines.compare(step)
        finally:
            report(context, state, done, self.engines)
        self.alert()

    def _answers(
        self, seeds: Sequence[int], examples: Sequence[Example], scoring: Scoring, *, with_centre: bool
    ) -> Answers:
        """Return all responses, scored. A request to stop gives the iteration up, which may take longer than a kill
        waits."""
        prompts = [self.context.prompts.ids(example.messages) for example in examples]
        answers, began = Answers.empty(len(seeds)), time.perf_counter()
        with self.context.stop.interruptible():
            for answered in self.engines.answer(seeds, prompts, with_centre=with_centre):
                scoring.add(answered.answers)
                answers.add(answered)
            answers.seconds = time.perf_counter() - began
            scoring.finish()
        return answers

    def _judge(
        self, step: int, seeds: Sequence[int], examples: Sequence[Example], answers: Answers, scoring: Scoring,
        constraint: Constraint,
    ) -> list[Fitness]:  # fmt: skip
        """Return the fitness of all members. Raise RewardFailed, KlNotFinite and Interrupted."""
        fitness = [
            judge(self.context, constraint, step, seed, partial(scoring.scores, of_member))
            for seed, of_member in zip(seeds, answers.members, strict=True)
        ]
        if self.penalty is None:
            return fitness
        return self.penalty.subtract(step, seeds, examples, answers.members, fitness)
