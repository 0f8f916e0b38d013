"""Continuous batching: answers of a fixed queue of prompts, in slots that are refilled as answers end.

Which rows share a step follows from the queue and from the answers, never from the clock, so that a queue answered
again on an equal card gives equal answers. A step of another size may round differently.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from workers.models.decoder.gpu.captured import CapturedStep, size_for
from workers.models.decoder.gpu.step import ENDED, LIMIT, MEMBER, NUMBER, POSITION, SLOT, TOKEN
from workers.models.decoder.gpu.weights import JoinedWeights
from workers.models.decoder.loop import Measure, unmeasured

STEPS_A_LOOK = 8
"""Steps between two looks at which answers have ended, each of which waits for the GPU."""

State = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Answer:
    """The tokens of an answer through its end token, and the place of its prompt in the queue."""

    place: int
    tokens: list[int]


@dataclass(frozen=True)
class Query:
    """A prompt's token ids, the member that answers it, and the tokens that the answer may have."""

    member: int
    ids: Sequence[int]
    limit: int


class ContinuousBatch:
    """Answers queues with one captured step. The last slots hold what the prompts of each member begin with.

    Slots of the step's cache: one for each row, one for rows without an answer, and one for each member. `measure` is
    called with prefill and decode around what is queued of each.
    """

    def __init__(self, captured: CapturedStep, members: int, measure: Measure = unmeasured) -> None:
        self._measure = measure
        self._captured, self._step = captured, captured.step
        self._rows, self._members = captured.step.sizes.rows, members
        self._unused = self._rows
        self._device = captured.step.cache.device
        if captured.step.sizes.slots < slots_for(self._rows, members):
            raise ValueError(f"{self._rows} rows of {members} members need {slots_for(self._rows, members)} slots")

    @contextmanager
    def in_stream(self) -> Iterator[None]:
        """Queue what the block does behind what was queued before, here and by the caller."""
        self._captured.wait_for_caller()
        with torch.cuda.stream(self._captured.stream):
            yield

    def let_caller_wait(self) -> None:
        """Let what the caller queues next wait for what is queued here."""
        if self._captured.stream is not None:
            torch.cuda.current_stream(self._device).wait_stream(self._captured.stream)

    @property
    def weights(self) -> JoinedWeights:
        """Return the weights that answer."""
        return self._step.weights

    def answers(self, queue: Sequence[Query], beginning: int = 0) -> Iterator[list[Answer]]:
        """Yield answers as they end. All prompts have their first `beginning` tokens in common.

        What is queued runs while the caller looks at what was yielded. Raise ValueError for what no buffer can hold.
        """
        self._check(queue, beginning)
        with self.in_stream(), self._measure("prefill"):
            self._read_beginnings(queue, beginning)
        waiting, free = deque(enumerate(queue)), list(range(self._rows))
        places: dict[int, int] = {}
        state = np.zeros((7, 0), dtype=np.int32)
        ended: list[Answer] = []
        while waiting or state.shape[1] or ended:
            with torch.cuda.stream(self._captured.stream):
                new = [waiting.popleft() for _ in range(min(len(waiting), self._rows - state.shape[1]))]
                slots = [free.pop(0) for _ in new]
                places.update(zip(slots, (place for place, _ in new), strict=True))
                if new:
                    with self._measure("prefill"):
                        self._read([query for _, query in new], slots, beginning)
                state = np.concatenate([state, _first_state([query for _, query in new], slots)], axis=1)
                with self._measure("decode"):
                    size = self._start(state) if state.shape[1] else 0
            # The GPU works meanwhile.
            yield ended
            with torch.cuda.stream(self._captured.stream):
                ended = []
                if size:
                    state = self._step.state[:, : state.shape[1]].cpu().numpy()
                    over = state[ENDED] == 1
                    gone = state[:, over]
                    ended = self._take(gone, places)
                    state = state[:, ~over]
                    free = sorted([*free, *gone[SLOT].tolist()])

    def _check(self, queue: Sequence[Query], beginning: int) -> None:
        """Kernels write where they are told to: refuse what lies outside."""
        sizes = self._step.sizes
        for query in queue:
            if len(query.ids) <= beginning:
                raise ValueError("every prompt must have tokens of its own behind the common beginning")
            if not 0 <= query.member < self._members:
                raise ValueError(f"member must be below {self._members}, not {query.member}")
            if not 0 < query.limit <= sizes.max_new:
                raise ValueError(f"an answer may have 1 to {sizes.max_new} tokens, not {query.limit}")
            if len(query.ids) + query.limit - 1 > sizes.columns:
                longest = sizes.columns - query.limit + 1
                raise ValueError(f"a prompt may have {longest} tokens at most, not {len(query.ids)}")

    def _start(self, state: State) -> int:
        """Queue the next steps for these rows. Return the size of a step."""
        count = state.shape[1]
        size = size_for(count, self._captured.answer_sizes)
        unused = np.zeros((7, size - count), dtype=np.int32)
        unused[SLOT], unused[ENDED] = self._unused, 1
        self._step.state[:, :size].copy_(torch.from_numpy(np.concatenate([state, unused], axis=1)))
        for _ in range(STEPS_A_LOOK):
            self._captured.answer(size)
        return size

    def _take(self, gone: State, places: dict[int, int]) -> list[Answer]:
        """Return the answers of rows that have ended."""
        if not gone.shape[1]:
            return []
        slots = torch.from_numpy(gone[SLOT].astype(np.int64)).to(self._device)
        tokens = self._step.answers[slots].cpu().numpy()
        counted = zip(gone[SLOT].tolist(), gone[NUMBER].tolist(), tokens, strict=True)
        return [Answer(places.pop(slot), own[:count].tolist()) for slot, count, own in counted]

    def _read_beginnings(self, queue: Sequence[Query], beginning: int) -> None:
        """Read what all prompts begin with, once for each member that answers."""
        firsts: dict[int, Query] = {}
        for query in queue if beginning else ():
            firsts.setdefault(query.member, query)
        self._read_tokens([(query, self._rows + 1 + member, 0, beginning) for member, query in sorted(firsts.items())])

    def _read(self, queries: Sequence[Query], slots: Sequence[int], beginning: int) -> None:
        """Read prompts into slots, each but for its last token."""
        if beginning:
            sources = [self._rows + 1 + query.member for query in queries]
            numbers = torch.tensor([sources, list(slots)], dtype=torch.int32).to(self._device)
            self._step.copy_beginnings(numbers[0], numbers[1], beginning)
        paired = zip(queries, slots, strict=True)
        self._read_tokens([(query, slot, beginning, len(query.ids) - 1) for query, slot in paired])

    def _read_tokens(self, parts: Sequence[tuple[Query, int, int, int]]) -> None:
        """Read tokens start … end − 1 of each (query, slot, start, end), in steps as large as there are."""
        lengths = np.array([end - start for _, _, start, end in parts], dtype=np.int64)
        total = int(lengths.sum()) if len(parts) else 0
        if not total:
            return
        rows = np.zeros((4, total), dtype=np.int32)
        rows[TOKEN] = [token for query, _, start, end in parts for token in query.ids[start:end]]
        rows[POSITION] = [at for _, _, start, end in parts for at in range(start, end)]
        rows[SLOT] = np.repeat([slot for _, slot, _, _ in parts], lengths)
        rows[MEMBER] = np.repeat([query.member for query, _, _, _ in parts], lengths)
        most = self._step.sizes.read_rows
        for first in range(0, total, most):
            some = rows[:, first : first + most]
            size = size_for(some.shape[1], self._captured.read_sizes)
            unused = np.zeros((4, size - some.shape[1]), dtype=np.int32)
            unused[SLOT] = self._unused
            self._step.read_state[:, :size].copy_(torch.from_numpy(np.concatenate([some, unused], axis=1)))
            self._captured.read(size)


def slots_for(rows: int, members: int) -> int:
    """Return the slots of a cache for so many rows and members."""
    return rows + 1 + members


def common_beginning(prompts: Sequence[Sequence[int]]) -> int:
    """Return how many tokens all prompts begin with, leaving each one at least one token of its own."""
    most = min(len(prompt) for prompt in prompts) - 1
    return next((at for at in range(most) if len({prompt[at] for prompt in prompts}) > 1), most)


def _first_state(queries: Sequence[Query], slots: Sequence[int]) -> State:
    """Rows that answer these queries: each with the last token of its prompt to be read next."""
    state = np.zeros((7, len(queries)), dtype=np.int32)
    state[TOKEN] = [query.ids[-1] for query in queries]
    state[POSITION] = [len(query.ids) - 1 for query in queries]
    state[SLOT], state[MEMBER] = slots, [query.member for query in queries]
    state[LIMIT] = [query.limit for query in queries]
    return state
