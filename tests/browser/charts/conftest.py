"""Runs of two groups, and the page of their experiment with two charts drawn."""

from __future__ import annotations

import pytest

from tests.browser.chart_readout import scroll_to_chart
from tests.browser.page_idle import wait_until_idle
from tests.runs.full_runs import evaluation, make_run, record


@pytest.fixture
def runs(experiment, runs_dir):
    """Return runs of two groups, two seeds each; the first run has not ended."""
    out = []
    for name in ("es-tiny", "grpo-tiny"):
        for seed in range(2):
            out.append(make_run(experiment, name, seed, "succeeded" if out else "running"))
            offset = 5 * (name == "es-tiny") + seed
            record(out[-1], [evaluation(step, -40.0 + offset + step + (step % 4)) for step in range(0, 22, 2)])
    return out


@pytest.fixture
def open_page(signed_in, address, experiment, runs):
    """Return the experiment's page with its charts reward and KL drawn."""
    page = signed_in
    page.set_viewport_size({"width": 1440, "height": 1700})
    page.goto(f"{address}/experiments/{experiment.pk}/")
    for chart in ("kl", "reward"):
        scroll_to_chart(page, chart)
    wait_until_idle(page)
    return page


@pytest.fixture
def phone(signed_in):
    signed_in.set_viewport_size({"width": 390, "height": 844})
    return signed_in
