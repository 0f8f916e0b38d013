"""Steps of a few fixed numbers of rows, captured as CUDA graphs when they are first taken, and replayed with the
contents of the step's buffers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

import torch

from workers.models.decoder.gpu.step import Step

SMALLEST = 16
FINEST = 128
"""From this number of rows on there is a size between each power of two and the next."""


class CapturedStep:
    """A step whose launches are recorded once for each size that is used. All work is queued on `stream`, in order.

    `answer_sizes` are rows of all copies of the weights together, `read_sizes` those of one; with `is_fixed` there is
    one of each, the largest. Without a GPU, where Triton's interpreter runs the kernels, every step is launched again.
    """

    def __init__(self, step: Step, *, is_fixed: bool = False) -> None:
        self.step = step
        self.on_gpu = step.cache.is_cuda
        self.stream = torch.cuda.Stream(step.cache.device) if self.on_gpu else None  # type: ignore[no-untyped-call]
        sizes_of, copies = _largest if is_fixed else sizes_up_to, step.weights.copies
        self.answer_sizes = [copies * size for size in sizes_of(step.sizes.rows // copies)]
        self.read_sizes = sizes_of(step.sizes.read_rows)
        self._replays: dict[Hashable, Callable[[], None]] = {}
        self._pool = torch.cuda.graph_pool_handle() if self.on_gpu else None

    def answer(self, rows: int) -> None:
        """Take the step that answers with the smallest size of at least `rows`."""
        size = size_for(rows, self.answer_sizes)
        self._take(("answer", size), lambda: self.step.answer(size))

    def sample(self, rows: int, temperature: float) -> None:
        """Take the step that samples at this temperature with the smallest size of at least `rows`."""
        size = size_for(rows, self.answer_sizes)
        self._take(("sample", size, temperature), lambda: self.step.sample(size, temperature))

    def read(self, rows: int, copy: int) -> None:
        """Take the step that reads with the smallest size of at least `rows`, by one copy of the weights."""
        size = size_for(rows, self.read_sizes)
        self._take(("read", size, copy), lambda: self.step.read(size, copy))

    def wait_for_caller(self) -> None:
        """Let the stream wait for what the caller has queued, such as the writing of weights."""
        if self.stream is not None:
            self.stream.wait_stream(torch.cuda.current_stream(self.step.cache.device))

    def _take(self, kind: Hashable, launch: Callable[[], None]) -> None:
        """Take a step of this kind in the stream: launch the first one, and replay its record from then on."""
        if kind in self._replays:
            self._replays[kind]()
            return
        # It also compiles kernels and loads modules, neither of which a capture may do.
        launch()
        if self.stream is not None:
            self._replays[kind] = self._record(launch)

    def _record(self, launch: Callable[[], None]) -> Callable[[], None]:
        """Record launches, which do not run here. `torch.cuda.graph` would wait, and empty the allocator, each time."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self.stream):
            graph.capture_begin(self._pool, capture_error_mode="thread_local")
            try:
                launch()
            finally:
                graph.capture_end()
        return graph.replay


def size_for(rows: int, sizes: list[int]) -> int:
    """Return the smallest of these sizes, which rise, that holds so many rows."""
    return next(size for size in sizes if size >= rows)


def _largest(most: int) -> list[int]:
    return [most]


def sizes_up_to(most: int) -> list[int]:
    """Return the sizes of steps, rising up to `most`."""
    return sorted({*_between(most), most})


def _between(most: int) -> Iterator[int]:
    size = SMALLEST
    while size < most:
        yield size
        if size >= FINEST and size * 3 // 2 < most:
            yield size * 3 // 2
        size *= 2
