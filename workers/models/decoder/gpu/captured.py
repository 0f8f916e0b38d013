"""Steps of a few fixed numbers of rows, captured as CUDA graphs, and replayed with the contents of the step's
buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch

from workers.models.decoder.gpu.step import Step

SMALLEST = 16
FINEST = 128
"""From this number of rows on there is a size between each power of two and the next."""


class CapturedStep:
    """A step whose launches are recorded once for each size. All work is queued on `stream`, in order.

    `answer_sizes` are rows of all copies of the weights together, `read_sizes` those of one. Without a GPU, where
    Triton's interpreter runs the kernels, every step is launched again.
    """

    def __init__(self, step: Step) -> None:
        self.step = step
        self.on_gpu = step.cache.is_cuda
        self.stream = torch.cuda.Stream(step.cache.device) if self.on_gpu else None  # type: ignore[no-untyped-call]
        copies = step.weights.copies
        self.answer_sizes = [copies * size for size in sizes_up_to(step.sizes.rows // copies)]
        self.read_sizes = sizes_up_to(step.sizes.read_rows)
        self._answers = {rows: self._record(step.answer, rows) for rows in self.answer_sizes}
        self._reads = [
            {rows: self._record(partial(step.read, copy=copy), rows) for rows in self.read_sizes}
            for copy in range(copies)
        ]

    def answer(self, rows: int) -> None:
        """Replay the step that answers with the smallest size of at least `rows`."""
        self._answers[size_for(rows, self.answer_sizes)]()

    def read(self, rows: int, copy: int) -> None:
        """Replay the step that reads with the smallest size of at least `rows`, by one copy of the weights."""
        self._reads[copy][size_for(rows, self.read_sizes)]()

    def wait_for_caller(self) -> None:
        """Let the stream wait for what the caller has queued, such as the writing of weights."""
        if self.stream is not None:
            self.stream.wait_stream(torch.cuda.current_stream(self.step.cache.device))

    def _record(self, launch: Callable[[int], None], rows: int) -> Callable[[], None]:
        if self.stream is None:
            return lambda: launch(rows)
        graph = torch.cuda.CUDAGraph()
        self.wait_for_caller()
        with torch.cuda.stream(self.stream):
            # Compiles kernels and loads modules, neither of which a capture may do.
            launch(rows)
            self.stream.synchronize()
            with torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"):
                launch(rows)
        return graph.replay


def size_for(rows: int, sizes: list[int]) -> int:
    """Return the smallest of these sizes, which rise, that holds so many rows."""
    return next(size for size in sizes if size >= rows)


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
