"""Runs of method probe, with records as the worker writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runs.models import Experiment, Run
from tests.runs.attempt_records import make_attempt
from tests.runs.full_runs import record
from workers.config import RunConfig
from workers.records import Probe, ProbeValue

KINDS = ("self_attn.q_proj", "mlp.up_proj")


def make_probe_run(experiment: Experiment, trainings: Sequence[Run] = (), name: str = "probe") -> Run:
    """Create a finished probe run without records, of the last steps of these trainings."""
    data = {
        "method": "probe", "model": {"path": "micro"}, "task": {"name": "countdown"},
        "probe": {"runs": [f"run:{training.uid}" for training in trainings]},
    }  # fmt: skip
    run = Run.objects.create(
        experiment=experiment, name=name, method="probe", seed=0, config=RunConfig.from_json(data).to_json(),
        state="succeeded", created_by=experiment.owner, parent=trainings[0] if trainings else None,
    )  # fmt: skip
    make_attempt(run, state="succeeded")
    return run


def tensor_values(by_name: Mapping[str, float], whole: float = 2.0, has_band: bool = True) -> tuple[ProbeValue, ...]:
    """Return the value of the whole model, and one of each tensor, all with a band by chance of 0.9 to 1.1."""
    band = {"null": 1.0, "null_low": 0.9, "null_high": 1.1} if has_band else {}
    return (
        ProbeValue(whole, 4096, **band),
        *(ProbeValue(value, 64, tensor, **band) for tensor, value in by_name.items()),
    )


def tensors(layers: int = 2, value: float = 1.0) -> dict[str, float]:
    """Return the value for each tensor: those of layers, the embedding and the norm."""
    names = [f"model.layers.{layer}.{kind}.weight" for layer in range(layers) for kind in KINDS]
    return dict.fromkeys(["model.embed_tokens.weight", *names, "model.norm.weight"], value)


def record_norms(run: Run, training: Run, step: int = 10, value: float = 1.0, has_band: bool = True) -> Run:
    """Record the norm of the change of a training: of the whole model and of each tensor."""
    values = tensor_values(tensors(value=value), 2 * value, has_band)
    record(run, [Probe(step, "magnitude", "norm", f"{training.uid}@{step}", values)])
    return run


def reward_line(training: Run, other: Run) -> Probe:
    """Return the rewards along a line that falls below its band by chance in the middle."""
    values = tuple(
        ProbeValue(value, 8, x=x, low=value - 0.1, high=value + 0.1, null=0.5, null_low=0.4, null_high=0.6)
        for x, value in ((0.0, 0.5), (0.5, 0.125), (1.0, 0.5))
    )
    return Probe(10, "interpolation", "reward", f"{training.uid}@10", values, f"{other.uid}@10")


def shared_noise(training: Run) -> Probe:
    """Return an audit with one strong pair, one weak pair and a negative one."""
    pairs = (("q", "k", 0.01), ("q", "v", 0.99), ("k", "v", -0.5))
    values = tuple(
        ProbeValue(value, 64, first, second, null=0.0, null_low=-0.375, null_high=0.375)
        for first, second, value in pairs
    )
    return Probe(10, "audit", "shared_noise", f"{training.uid}@10", values, verdict="shared")
