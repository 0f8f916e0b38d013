"""Runs that several tests of comparisons share."""

import pytest

from tests.runs.full_runs import evaluation, make_run, record


@pytest.fixture
def pair(experiment):
    """Return two seeds of ES and two of GRPO, evaluated twice."""
    ends = {("es-tiny", 0): -7.0, ("es-tiny", 1): -9.0, ("grpo-tiny", 0): -20.0, ("grpo-tiny", 1): -23.0}
    runs = [make_run(experiment, name, seed, "succeeded") for name, seed in ends]
    for run, last in zip(runs, ends.values(), strict=True):
        record(run, [evaluation(0, -40.0), evaluation(5, last)])
    return runs
