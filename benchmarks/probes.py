"""Measure the page of results of probes: a value of every tensor of a model of 28 layers, for six trainings.

    python -m benchmarks.probes

The real page over HTTP from one web server process: six heat maps of 7 kinds of tensors in 28 layers, and one tensor
in all trainings. The goal is that of the slowest twentieth.
"""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING

from benchmarks import results, servers
from benchmarks.closed_loop import Page, get, percentile

if TYPE_CHECKING:
    from runs.models import Experiment, Run
    from workers.records import Probe

LAYERS, TRAININGS, STEP = 28, 6, 100
KINDS = (
    "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
    "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj",
)  # fmt: skip
ELEMENTS = 1024 * 1024
TENSORS = [
    "model.embed_tokens.weight",
    *(f"model.layers.{layer}.{kind}.weight" for layer in range(LAYERS) for kind in KINDS),
    "model.norm.weight",
]
MEASURES = {
    "magnitude": ("norm", "relative_norm"), "spectrum": ("effective_rank", "stable_rank", "density", "unchanged"),
}  # fmt: skip
ROUNDS, GOAL_MS = 30, 300.0
FIGURE = f"probes page of {TRAININGS} x {len(TENSORS)} tensors, p95"


def result(training: Run, probe: str, measure: str) -> Probe:
    """Return a result with a value of every tensor: near its band by chance for ES, far from it for GRPO."""
    from workers.records import Probe, ProbeValue

    draws = random.Random(f"{training.uid} {measure}")
    spread = 0.01 if training.method == "es" else 0.2
    values = tuple(
        ProbeValue(draws.gauss(1.0, spread), ELEMENTS, tensor, null=1.0, null_low=0.98, null_high=1.02)
        for tensor in ("", *TENSORS)
    )
    return Probe(STEP, probe, measure, f"{training.uid}@{STEP}", values)


def fill() -> Experiment:
    """Store the trainings and a probe run of them, as a follower would have stored it. Return their experiment."""
    from runs.ingest import ingest
    from runs.models import Attempt, Cluster, key_of
    from workers.records import Line

    experiment = servers.experiment()
    methods = [("es", "grpo")[seed % 2] for seed in range(TRAININGS)]
    trainings = [
        _run(experiment, f"{method} {seed}", {"method": method, method: {}}) for seed, method in enumerate(methods)
    ]
    names = [f"run:{training.uid}" for training in trainings]
    run = _run(experiment, "probe", {"method": "probe", "probe": {"runs": names}}, trainings[0])
    cluster = Cluster.objects.get(name="local")
    attempt = Attempt.objects.create(run=run, n=1, key=key_of(run, 1), cluster=cluster, state="succeeded")
    records = [
        result(training, probe, measure)
        for probe, measures in MEASURES.items()
        for measure in measures
        for training in trainings
    ]
    ingest(attempt, 0, [Line(seq, float(seq), record) for seq, record in enumerate(records)])
    return experiment


def _run(experiment: Experiment, name: str, config: dict[str, object], parent: Run | None = None) -> Run:
    from runs.models import Run
    from workers.config import RunConfig

    whole = RunConfig.from_json(config | {"task": {"name": "countdown"}}).to_json()
    return Run.objects.create(
        experiment=experiment, name=name, method=whole["method"], seed=0, config=whole, state="succeeded",
        created_by=experiment.owner, parent=parent,
    )  # fmt: skip


def fetch(web: servers.Web, address: str) -> list[Page]:
    """Return the pages of all rounds, after one that warms up. Raise AssertionError if it does not show everything."""
    headers = servers.browser_headers()
    pages = [get(web.port, address, headers) for _ in range(ROUNDS + 1)]
    cells = pages[0].body.decode().count('<a class="shade ')
    if cells != TRAININGS * len(TENSORS):
        raise AssertionError(f"{address} shows {cells} tensors, not {TRAININGS * len(TENSORS)}")
    return pages[1:]


def main() -> int:
    """Measure, record, and return the exit code."""
    from django.urls import reverse

    with servers.site(), servers.web() as web:
        experiment = fill()
        servers.settle()
        pages = fetch(web, f"{reverse('probes', args=[experiment.pk])}?tensor={TENSORS[1]}")
    slow, typical = (1000 * percentile([page.seconds for page in pages], part) for part in (0.95, 0.5))
    results.at_most(FIGURE, slow, GOAL_MS, "ms")
    results.without_goal("the same, median", typical, "ms")
    results.without_goal("the page, gzip", max(page.size for page in pages) / 1000, "kB")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
