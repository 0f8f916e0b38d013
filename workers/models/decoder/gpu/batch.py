"""Continuous batching: responses to a fixed queue of prompts, in slots that are refilled as responses end.

The rows that share a step follow from the queue and from the responses, never from the clock, so that a queue answered
again on an equal card gives equal responses. A step of another size may round differently; where all steps have one
size, a response depends on its own prompt alone.

A step may hold rows of several copies of the weights, as many of each, so that every copy is read at the full speed of
the memory. A copy that has answered all of its queue is written again and takes the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from workers.models.decoder.gpu.captured import CapturedStep, size_for
from workers.models.decoder.gpu.step import ENDED, LIMIT, MEMBER, NUMBER, POSITION, SLOT, TOKEN
from workers.models.decoder.gpu.weights import JoinedWeights
from workers.models.decoder.loop import Measure, unmeasured

STEPS_A_LOOK = 8
"""Steps between two looks at which answers have ended, each of which waits for the GPU."""

State = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Answer:
    """The tokens of a response through its end token, and the index of its prompt in the queue."""

    index: int
    tokens: list[int]


@dataclass(frozen=True)
class Query:
    """A prompt's token ids, the member that answers it, and the tokens that the answer may have.

    The member is one of those that share a copy of the weights; 0 where each has a copy of its own.
    """

    member: int
    ids: Sequence[int]
    limit: int


@dataclass(frozen=True)
class Sampling:
    """Draws responses instead of the likeliest ones: `uniform` [responses, tokens] numbers, by the index of each."""

    temperature: float
    uniform: Tensor


@dataclass
class _Copy:
    """A copy of the weights, the queries that wait for it, with their places, and the answers that it writes now."""

    number: int
    waiting: deque[tuple[int, Query]]
    running: int = 0


class ContinuousBatch:
    """Answers queues with one captured step. The last slots hold what the prompts of each member begin with.

    At most `responses` are written together, as many as the step has rows if it is 0. Slots of the step's cache: one
    for each of them, one for rows without a response, and one for each member. `measure` is called with prefill and
    decode around what is queued of each.
    """

    def __init__(self, captured: CapturedStep, members: int, measure: Measure = unmeasured, responses: int = 0) -> None:
        self._measure = measure
        self._captured, self._step = captured, captured.step
        sizes, self._copies = captured.step.sizes, captured.step.weights.copies
        self._members = members
        self._responses = responses or sizes.rows
        self._unused = self._responses
        self._device = captured.step.cache.device
        if sizes.slots < (needed := slots_for(self._responses, members)):
            raise ValueError(f"{self._responses} rows of {members} members need {needed} slots")
        if members < self._copies or self._responses % self._copies:
            raise ValueError(f"{self._responses} rows of {members} members do not make {self._copies} equal parts")

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

    def answers(
        self,
        queues: Sequence[Sequence[Query]],
        beginning: int = 0,
        write: Callable[[int, int], None] | None = None,
        sampling: Sampling | None = None,
    ) -> Iterator[list[Answer]]:
        """Yield answers as they end. All prompts have their first `beginning` tokens in common.

        Each queue is answered by one copy of the weights, the first that has nothing left to do: `write` is called with
        the queue's number and the copy's, to write its weights. What is queued runs while the caller looks at what was
        yielded. Raise ValueError for what no buffer can hold.
        """
        self._check([query for queue in queues for query in queue], beginning)
        numbered = _numbered(queues)
        copies, free = [_Copy(number, deque()) for number in range(self._copies)], list(range(self._responses))
        places: dict[int, int] = {}
        state, ended = np.zeros((7, 0), dtype=np.int32), list[Answer]()
        while True:
            with self.in_stream():
                for copy in copies:
                    if not copy.waiting and not copy.running and numbered:
                        number, copy.waiting = numbered.popleft()
                        if write is not None:
                            write(number, copy.number)
                        self._read_beginnings(copy, beginning)
                    state = np.concatenate([state, self._begin(copy, free, places, beginning, sampling)], axis=1)
                size = self._start(state, sampling) if state.shape[1] else 0
            # The GPU works meanwhile.
            yield ended
            if not size:
                return
            with torch.cuda.stream(self._captured.stream):
                state, gone = self._look(size)
                ended = self._take(gone, places)
            free.extend(gone[SLOT].tolist())
            free.sort()
            running = np.bincount(self._copies_of(state), minlength=self._copies)
            for copy in copies:
                copy.running = int(running[copy.number])

    def _check(self, queue: Sequence[Query], beginning: int) -> None:
        """Raise ValueError for values outside the buffers, since kernels do not check where they write."""
        sizes = self._step.sizes
        for query in queue:
            if len(query.ids) <= beginning:
                raise ValueError("every prompt must have tokens of its own after the common prefix")
            members = self._members if self._copies == 1 else 1
            if not 0 <= query.member < members:
                raise ValueError(f"member must be below {members}, not {query.member}")
            if not 0 < query.limit <= sizes.max_new:
                raise ValueError(f"a response may have 1 to {sizes.max_new} tokens, not {query.limit}")
            if len(query.ids) + query.limit - 1 > sizes.columns:
                longest = sizes.columns - query.limit + 1
                raise ValueError(f"a prompt may have at most {longest} tokens, not {len(query.ids)}")

    def _begin(
        self, copy: _Copy, free: list[int], places: dict[int, int], beginning: int, sampling: Sampling | None
    ) -> State:
        """Read the prompts that the copy has rows for. Return the state of their rows."""
        count = min(len(copy.waiting), self._responses // self._copies - copy.running)
        new = [copy.waiting.popleft() for _ in range(count)]
        slots, free[:count] = free[:count], []
        places.update(zip(slots, (index for index, _ in new), strict=True))
        queries = [query for _, query in new]
        copy.running += count
        self._read(copy, queries, slots, beginning)
        if sampling is not None and slots:
            numbers = torch.tensor([slots, [index for index, _ in new]]).to(self._device)
            self._step.draws[numbers[0], : sampling.uniform.shape[1]] = sampling.uniform[numbers[1]]
        state = np.zeros((7, count), dtype=np.int32)
        state[TOKEN] = [query.ids[-1] for query in queries]
        state[POSITION] = [len(query.ids) - 1 for query in queries]
        state[SLOT], state[MEMBER] = slots, [copy.number + query.member for query in queries]
        state[LIMIT] = [query.limit for query in queries]
        return state

    def _start(self, state: State, sampling: Sampling | None) -> int:
        """Queue the next steps for these rows, as many of each copy. Return the size of a step."""
        numbers = self._copies_of(state)
        counts = np.bincount(numbers, minlength=self._copies)
        size = size_for(int(counts.max()) * self._copies, self._captured.answer_sizes)
        each = size // self._copies
        padded = np.zeros((7, size), dtype=np.int32)
        padded[SLOT], padded[ENDED] = self._unused, 1
        if self._copies > 1:
            padded[MEMBER] = np.repeat(np.arange(self._copies), each)
        order = np.argsort(numbers, kind="stable")
        within = np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
        padded[:, numbers[order] * each + within] = state[:, order]
        self._step.state[:, :size].copy_(torch.from_numpy(padded))
        with self._measure("decode"):
            for _ in range(STEPS_A_LOOK):
                if sampling is None:
                    self._captured.answer(size)
                else:
                    self._captured.sample(size, sampling.temperature)
        return size

    def _copies_of(self, state: State) -> npt.NDArray[np.int32]:
        """Return the copy of the weights that each row has."""
        return state[MEMBER] if self._copies > 1 else np.zeros_like(state[MEMBER])

    def _look(self, size: int) -> tuple[State, State]:
        """Wait for the steps of so many rows. Return the state of the rows that go on, and of those that have ended."""
        state = self._step.state[:, :size].cpu().numpy()
        state = state[:, state[SLOT] != self._unused]
        over = state[ENDED] == 1
        return state[:, ~over], state[:, over]

    def _take(self, gone: State, places: dict[int, int]) -> list[Answer]:
        """Return the answers of rows that have ended."""
        if not gone.shape[1]:
            return []
        slots = torch.from_numpy(gone[SLOT].astype(np.int64)).to(self._device)
        tokens = self._step.answers[slots].cpu().numpy()
        counted = zip(gone[SLOT].tolist(), gone[NUMBER].tolist(), tokens, strict=True)
        return [Answer(places.pop(slot), own[:count].tolist()) for slot, count, own in counted]

    def _read_beginnings(self, copy: _Copy, beginning: int) -> None:
        """Read what the copy's prompts begin with, once for each member."""
        firsts: dict[int, Query] = {}
        for _, query in copy.waiting if beginning else ():
            firsts.setdefault(copy.number + query.member, query)
        self._read_tokens(copy, [(q, self._unused + 1 + member, 0, beginning) for member, q in sorted(firsts.items())])

    def _read(self, copy: _Copy, queries: Sequence[Query], slots: Sequence[int], beginning: int) -> None:
        """Read prompts into slots, each but for its last token."""
        if beginning and queries:
            sources = [self._unused + 1 + copy.number + query.member for query in queries]
            numbers = torch.tensor([sources, list(slots)], dtype=torch.int32).to(self._device)
            self._step.copy_beginnings(numbers[0], numbers[1], beginning)
        paired = zip(queries, slots, strict=True)
        self._read_tokens(copy, [(query, slot, beginning, len(query.ids) - 1) for query, slot in paired])

    def _read_tokens(self, copy: _Copy, parts: Sequence[tuple[Query, int, int, int]]) -> None:
        """Read tokens start … end − 1 of each (query, slot, start, end), in steps as large as there are."""
        lengths = np.array([end - start for _, _, start, end in parts], dtype=np.int64)
        total = int(lengths.sum()) if len(parts) else 0
        if not total:
            return
        rows = np.zeros((4, total), dtype=np.int32)
        rows[TOKEN] = [token for query, _, start, end in parts for token in query.ids[start:end]]
        rows[POSITION] = [at for _, _, start, end in parts for at in range(start, end)]
        rows[SLOT] = np.repeat([slot for _, slot, _, _ in parts], lengths)
        rows[MEMBER] = np.repeat([copy.number + query.member for query, _, _, _ in parts], lengths)
        max_rows = self._step.sizes.read_rows
        with self._measure("prefill"):
            for first in range(0, total, max_rows):
                part = rows[:, first : first + max_rows]
                size = size_for(part.shape[1], self._captured.read_sizes)
                unused = np.zeros((4, size - part.shape[1]), dtype=np.int32)
                unused[SLOT] = self._unused
                self._step.read_state[:, :size].copy_(torch.from_numpy(np.concatenate([part, unused], axis=1)))
                self._captured.read(size, copy.number)


def slots_for(rows: int, members: int) -> int:
    """Return the slots of a cache for so many rows and members."""
    return rows + 1 + members


def common_beginning(prompts: Sequence[Sequence[int]]) -> int:
    """Return how many tokens all prompts begin with, leaving each one at least one token of its own."""
    most = min(len(prompt) for prompt in prompts) - 1
    return next((at for at in range(most) if len({prompt[at] for prompt in prompts}) > 1), most)


def _numbered(queues: Sequence[Sequence[Query]]) -> deque[tuple[int, deque[tuple[int, Query]]]]:
    """Return each queue that is not empty with its number, and its queries with their places in all queues."""
    numbered, first = deque[tuple[int, deque[tuple[int, Query]]]](), 0
    for number, queue in enumerate(queues):
        if queue:
            numbered.append((number, deque(enumerate(queue, first))))
        first += len(queue)
    return numbered
