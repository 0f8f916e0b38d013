"""A resume that goes back overwrites what lay after its step."""

import numpy as np

from runs.metrics.reading import overwritten


def flags(*stretches):
    steps = np.array([s for stretch in stretches for s in stretch], np.int64)
    segments = np.repeat(np.arange(len(stretches)), [len(s) for s in stretches])
    return [bool(f) for f in overwritten(steps, segments)]


def test_points_after_the_step_that_a_resume_starts_from_are_overwritten():
    assert flags([1, 2, 3, 4], [3, 4, 5]) == [False, False, True, True, False, False, False]


def test_a_third_stretch_overwrites_both_before():
    assert flags([1, 5], [2, 6], [2]) == [False, True, True, True, False]


def test_a_resume_further_on_overwrites_nothing():
    assert flags([1, 2], [3, 4]) == [False] * 4


def test_a_repeated_step_overwrites_the_first():
    assert flags([1, 2, 2, 3]) == [False, True, False, False]


def test_disorder_inside_one_stretch_overwrites_nothing():
    assert flags([5, 3, 4]) == [False] * 3


def test_no_points_are_no_flags():
    assert flags([]) == []
