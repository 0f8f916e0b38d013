"""The native back end on a GPU: members answer by captured steps, in slots that are refilled until all have answered.

Low-rank noise and adapters: all members of a batch share every step. Full noise: a few members answer at once, each
with weights and a stream of its own, so that one fills the card while another writes its last long answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial

from workers.config import EsConfig
from workers.engines.es.backend import DecoderBackEnd
from workers.engines.es.batches import BatchPlan
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.trained import Differences, Trained
from workers.memory_plan.plan import READ_ROWS
from workers.models import Loaded
from workers.models.decoder import Completion, Prompt, Shape
from workers.models.decoder.gpu import (
    CapturedStep,
    ContinuousBatch,
    JoinedWeights,
    MemberTerms,
    Query,
    Sizes,
    Step,
    common_beginning,
    rotary_tables,
    slots_for,
)

Ids = Sequence[Sequence[int]]
Answers = Iterator[list[tuple[int, Completion]]]
"""(member · prompts + prompt, answer), as answers end."""


class CapturedBackEnd(DecoderBackEnd):
    """A `DecoderBackEnd` that answers by captured steps. The plan says how many at once."""

    def __init__(
        self, loaded: Loaded, trained: Trained, perturbation: Perturbation, es: EsConfig, plan: BatchPlan
    ) -> None:
        super().__init__(loaded, trained, perturbation, es, plan.rows)
        self.plan = plan
        shape = self._decoder.known_shape()
        weights = JoinedWeights(trained.base, shape)
        self._measure_lane = partial(self.phases.measure, streams=plan.lanes)
        self._shares_steps = es.lora is not None or es.noise == "low_rank"
        if self._shares_steps:
            self._terms = _terms_for(trained, perturbation, weights, shape, plan.members)
            self._lanes = [self._lane(weights, shape, self._terms)]
        else:
            copies = (JoinedWeights.empty_like(weights, shape) for _ in range(plan.lanes - 1))
            self._lanes = [self._lane(each, shape, None) for each in (weights, *copies)]

    def answer(self, seeds: Sequence[int], prompts: Sequence[Prompt]) -> list[list[Completion]]:
        return [of_member for some in self.answer_each(seeds, prompts) for of_member in some]

    def answer_each(self, seeds: Sequence[int], prompts: Sequence[Prompt]) -> Iterator[list[list[Completion]]]:
        ids = self._decoder.tokens(prompts)
        if self._shares_steps:
            with self._measure("noise"):
                self._load(self.trained.differences(seeds, self.perturbation))
            yield from _in_order(self._answer_together(len(seeds), ids), len(seeds), len(ids))
            return
        try:
            yield from _in_order(self._answer_in_lanes(seeds, ids), len(seeds), len(ids))
        finally:
            with self._measure("noise"):
                self.restore_centre()

    def answer_centre(self, prompts: Sequence[Prompt]) -> list[Completion]:
        ids = self._decoder.tokens(prompts)
        if self._shares_steps:
            self._load(self.trained.centre_difference())
            answers = self._answer_together(1, ids)
        else:
            answers = self._answers(self._lanes[0], [(0, prompt) for prompt in ids])
        return next(_in_order(answers, 1, len(ids)))[0]

    def _lane(self, weights: JoinedWeights, shape: Shape, terms: MemberTerms | None) -> ContinuousBatch:
        plan, members = self.plan, terms.members if terms else 1
        tables = rotary_tables(shape, self.model.model.rotary_emb, plan.columns, weights.parameters[shape.embed])
        slots = slots_for(plan.rows, members)
        sizes = Sizes(plan.rows, READ_ROWS, slots, plan.columns, self._max_new_tokens)
        step = Step(shape, weights, terms, tables, self._decoder.ends, sizes)
        return ContinuousBatch(CapturedStep(step), members, self._measure_lane)

    def restore_centre(self) -> None:
        """Write cast(master) into the model, behind what a lane may still write there or read."""
        for lane in self._lanes:
            lane.let_caller_wait()
        super().restore_centre()

    def _load(self, made: Differences) -> None:
        self._lanes[0].let_caller_wait()
        self._terms.load(made.factors, made.vectors)

    def _answer_together(self, members: int, ids: Ids) -> Answers:
        """Yield the answers of the members that were loaded, all in one queue."""
        return self._answers(self._lanes[0], [(member, prompt) for member in range(members) for prompt in ids])

    def _answer_in_lanes(self, seeds: Sequence[int], ids: Ids) -> Answers:
        """Yield the answers of members that each take the next set of weights that is free."""
        waiting, running = deque(range(len(seeds))), dict[int, tuple[int, Answers]]()
        while waiting or running:
            for number, lane in enumerate(self._lanes):
                if number not in running and waiting:
                    member = waiting.popleft()
                    self._write_member(seeds[member], lane)
                    running[number] = member, self._answers(lane, [(0, prompt) for prompt in ids])
                if number in running:
                    member, further = running[number]
                    if (some := next(further, None)) is None:
                        del running[number]
                    else:
                        yield [(member * len(ids) + place, answer) for place, answer in some]

    def _write_member(self, seed: int, lane: ContinuousBatch) -> None:
        """Write the member into the lane's weights, in its stream: the others go on meanwhile."""
        with lane.in_stream(), self._measure_lane("noise"):
            self.perturbation.write_member(seed, self.trained.master, lane.weights.parameters)

    def _answers(self, lane: ContinuousBatch, queue: Sequence[tuple[int, Sequence[int]]]) -> Answers:
        """Yield the answers to (member, prompt). They are turned to text while the GPU goes on."""
        queries = [Query(member, prompt, self._max_new_tokens) for member, prompt in queue]
        for some in lane.answers(queries, common_beginning([prompt for _, prompt in queue])):
            completions = self._decoder.completions([answer.tokens for answer in some])
            yield list(zip((answer.place for answer in some), completions, strict=True))


def _in_order(answers: Answers, members: int, prompts: int) -> Iterator[list[list[Completion]]]:
    """Yield the answers [member][prompt] of members in their order, as soon as all of a member's are there."""
    arrived: list[dict[int, Completion]] = [{} for _ in range(members)]
    first = 0
    for some in answers:
        for place, answer in some:
            arrived[place // prompts][place % prompts] = answer
        end = first
        while end < members and len(arrived[end]) == prompts:
            end += 1
        if end > first:
            yield [[of_member[place] for place in range(prompts)] for of_member in arrived[first:end]]
            first = end


def _terms_for(
    trained: Trained, perturbation: Perturbation, weights: JoinedWeights, shape: Shape, members: int
) -> MemberTerms:
    """Return buffers for what members differ in, as far as that is known from one of them."""
    made = trained.differences([1], perturbation)
    rank = next(iter(made.factors.values()))[0].shape[2]
    return MemberTerms(weights, shape, members, rank, set(made.factors), set(made.vectors))
