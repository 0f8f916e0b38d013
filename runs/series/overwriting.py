"""Which points a resume has overwritten: they are drawn grey, never dropped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runs.series.packing import Ints


def overwritten(steps: Ints, segments: Ints) -> NDArray[np.bool_]:
    """True where a later point of the same key says again what this one said. bool[n].

    `segments` ascends and numbers the stretches written by one process (attempt and epoch). A point is overwritten
    where a later segment holds a step ≤ its own (the run went back and took another path), or where its own segment
    repeats its step further on. Going back inside one segment is only disorder, and overwrites nothing.
    """
    if _ascend(steps):
        return np.zeros(len(steps), bool)
    return (steps >= _least_step_of_later_segments(steps, segments)) | _repeated(steps, segments)


def _ascend(steps: Ints) -> bool:
    """True where no step is said twice and none goes back, as in nearly all runs: then there is nothing to look for."""
    return bool((steps[1:] > steps[:-1]).all())


def _least_step_of_later_segments(steps: Ints, segments: Ints) -> Ints:
    starts = np.r_[0, np.flatnonzero(np.diff(segments)) + 1]
    lowest = np.minimum.reduceat(steps, starts)
    later = np.r_[np.minimum.accumulate(lowest[::-1])[::-1][1:], np.iinfo(np.int64).max]
    counts = np.diff(np.r_[starts, len(steps)])
    return np.repeat(later, counts)


def _repeated(steps: Ints, segments: Ints) -> NDArray[np.bool_]:
    order = np.lexsort((np.arange(len(steps)), steps, segments))
    same = (np.diff(steps[order]) == 0) & (np.diff(segments[order]) == 0)
    out = np.zeros(len(steps), bool)
    out[order[:-1][same]] = True
    return out
