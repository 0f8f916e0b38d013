"""The native back end on a GPU: members answer by captured steps, in slots that are refilled until all have answered.

Factored noise and adapters: all members of a batch share the weights and every step. Other noise: a few members answer
concurrently, each with a copy of the weights, and share every step too: its products are batched over the copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from workers.config import EsConfig
from workers.engines.es.backend import DecoderBackEnd
from workers.engines.es.batches import BatchPlan
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.trainable import Differences, TrainableWeights
from workers.memory_plan.plan import READ_ROWS
from workers.models import Loaded
from workers.models.decoder import Completion, Prompt, Shape
from workers.models.decoder.gpu import (
    CapturedDecoder,
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


class CapturedBackEnd(DecoderBackEnd):
    """A `DecoderBackEnd` that answers by captured steps. The plan sets how many members answer concurrently."""

    def __init__(
        self, loaded: Loaded, trained: TrainableWeights, perturbation: Perturbation, es: EsConfig, plan: BatchPlan
    ) -> None:
        super().__init__(loaded, trained, perturbation, es, plan.rows)
        self.plan = plan
        shape = self._decoder.known_shape()
        self._weights = JoinedWeights(trained.base, shape, plan.weight_sets)
        self._terms: MemberTerms | None = None
        if es.factor_rank:
            self._terms = _terms_for(trained, perturbation, self._weights, shape, plan.members)
        self._batch = self._make_batch(shape)

    def answer(self, seeds: Sequence[int], prompts: Sequence[Prompt]) -> list[list[Completion]]:
        return [of_member for some in self.answer_each(seeds, prompts) for of_member in some]

    def answer_each(self, seeds: Sequence[int], prompts: Sequence[Prompt]) -> Iterator[list[list[Completion]]]:
        ids = self._decoder.tokens(prompts)
        if self._terms is not None:
            with self._measure("noise"):
                self._load(self._terms, self.trained.differences(seeds, self.perturbation))
            queue = [self._query(member, index, ids) for member in range(len(seeds)) for index in range(len(ids))]
            yield from _in_order(self._answers([queue]), len(seeds), len(ids))
            return
        queues = [[self._query(0, index, ids) for index in range(len(ids))] for _ in seeds]
        try:
            answers = self._answers(queues, lambda number, copy: self._write_member(seeds[number], copy))
            yield from _in_order(answers, len(seeds), len(ids))
        finally:
            with self._measure("noise"):
                self.restore_centre()

    def answer_centre(self, prompts: Sequence[Prompt]) -> list[Completion]:
        ids = self._decoder.tokens(prompts)
        queue = [self._query(0, index, ids) for index in range(len(ids))]
        if self._terms is not None:
            self._load(self._terms, self.trained.centre_difference())
        # Each copy of the weights answers a part of the prompts.
        part = -(-len(queue) // self.plan.weight_sets)
        queues = [queue[first : first + part] for first in range(0, len(queue), part)]
        return next(_in_order(self._answers(queues, lambda _, copy: self._write_centre(copy)), 1, len(ids)))[0]

    @cached_property
    def decoder(self) -> CapturedDecoder:
        """Return what answers evaluations: steps of their own, on the weights of the first copy if it is the model."""
        first, parameters = self._weights.first_copy(), dict(self.model.named_parameters())
        return CapturedDecoder(self.model, self._decoder.tokenizer, first if first.holds(parameters) else None)

    def restore_centre(self) -> None:
        """Write cast(master) into the model, behind what steps may still read there."""
        self._batch.let_caller_wait()
        super().restore_centre()

    def _write_into_model(self, seed: int) -> None:
        """Write the member into the model, behind what steps may still read there."""
        self._batch.let_caller_wait()
        super()._write_into_model(seed)

    def _make_batch(self, shape: Shape) -> ContinuousBatch:
        plan, members = self.plan, self._terms.members if self._terms else self.plan.weight_sets
        tables = rotary_tables(shape, self.model.model.rotary_emb, plan.columns, self._weights.tensors[shape.embed])
        slots = slots_for(plan.rows, members)
        sizes = Sizes(plan.rows, READ_ROWS, slots, plan.columns, self._max_new_tokens)
        step = Step(shape, self._weights, self._terms, tables, self._decoder.ends, sizes)
        return ContinuousBatch(CapturedStep(step), members, self._measure)

    def _query(self, member: int, index: int, ids: Sequence[Sequence[int]]) -> Query:
        return Query(member, ids[index], self._max_new_tokens)

    def _load(self, terms: MemberTerms, differences: Differences) -> None:
        self._batch.let_caller_wait()
        terms.load(differences.factors, differences.vectors)

    def _write_member(self, seed: int, copy: int) -> None:
        """Write the member into a copy of the weights, in the stream of the steps."""
        with self._measure("noise"):
            self.perturbation.write_member(seed, self.trained.master, self._weights.of_copy(copy))

    def _write_centre(self, copy: int) -> None:
        """Write the centre, which the model holds in the first copy, into another one."""
        if copy:
            self._weights.repeat_first(copy)

    def _answers(
        self, queues: Sequence[Sequence[Query]], write: Callable[[int, int], None] | None = None
    ) -> Iterator[list[tuple[int, Completion]]]:
        """Yield (index in all queues, response), as responses end. They are decoded to text while the GPU continues."""
        beginning = common_beginning([query.ids for queue in queues for query in queue])
        for some in self._batch.answers(queues, beginning, write):
            completions = self._decoder.completions([answer.tokens for answer in some])
            yield list(zip((answer.index for answer in some), completions, strict=True))


def _in_order(
    answers: Iterator[list[tuple[int, Completion]]], members: int, prompts: int
) -> Iterator[list[list[Completion]]]:
    """Yield the answers [member][prompt] of members in their order, as soon as all of a member's are there.

    They come as (member · prompts + prompt, answer), in any order.
    """
    arrived: list[dict[int, Completion]] = [{} for _ in range(members)]
    first = 0
    for some in answers:
        for index, answer in some:
            arrived[index // prompts][index % prompts] = answer
        end = first
        while end < members and len(arrived[end]) == prompts:
            end += 1
        if end > first:
            yield [[of_member[prompt] for prompt in range(prompts)] for of_member in arrived[first:end]]
            first = end


def _terms_for(
    trained: TrainableWeights, perturbation: Perturbation, weights: JoinedWeights, shape: Shape, members: int
) -> MemberTerms:
    """Return buffers for what members differ in, as far as that is known from one of them."""
    differences = trained.differences([1], perturbation)
    rank = next(iter(differences.factors.values()))[0].shape[2]
    return MemberTerms(weights, shape, members, rank, set(differences.factors), set(differences.vectors))
