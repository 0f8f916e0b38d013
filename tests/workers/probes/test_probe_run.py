"""Method probe as a run: what it records, from the default config on, how it continues, and what it refuses."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.workers.engines.es import runs
from tests.workers.probes.evaluations import config_of as evaluation_of
from tests.workers.probes.evaluations import evaluate_in, values_of
from tests.workers.training_process import train
from workers.config import ConfigError, RunConfig
from workers.config.probe import PROBES
from workers.config.resources import locate
from workers.engines.stop import Interrupted, Stop
from workers.models import Loaded
from workers.probes.probe_run import probe
from workers.records import Metric, Probe, RecordWriter, next_epoch, read, records_path

SMALL = {
    "draws": 2,
    "sigmas": "0.02",
    "groups": ["all", "layers:0-0"],
    "points": 3,
    "responses": 4,
    "temperatures": "1",
}
PLAN = {"prompts": 3, "max_new_tokens": 8}
OF_ONE = ("magnitude", "spectrum", "audit", "perturbation", "curvature")
OF_TWO = ("cosine", "overlap")


@pytest.fixture(scope="module")
def trained(micro: Loaded, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return two ES runs of four steps, with the last step saved and the others not."""
    folders = [tmp_path_factory.mktemp(name) for name in ("k3m9x2p7qa", "p7qak3m9x2")]
    for folder, noise in zip(folders, ("full", "low_rank"), strict=True):
        runs.run(micro, folder, iterations=4, noise=noise)
    return folders


def config_of(*names: str | Path, model: str = "micro", **settings: Any) -> RunConfig:
    data = {"method": "probe", "model": {"path": model, "device": "cpu"}, "evaluation": PLAN}
    return locate(RunConfig.from_json(data | {"probe": SMALL | {"runs": list(map(str, names))} | settings}), {})


def probe_in(directory: Path, config: RunConfig, stop: Stop | None = None) -> None:
    """Probe in a directory, as its next epoch."""
    with RecordWriter(directory, next_epoch(directory)) as records:
        probe(config, records, stop or Stop(), lambda message, share: None)


def recorded(directory: Path, kind: Any) -> Iterator[Any]:
    for epoch in range(next_epoch(directory)):
        for line in read(records_path(directory, epoch), limit=10**8).lines:
            if isinstance(line.record, kind):
                yield line.record


def test_default_config_runs(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"method": "probe", "model": {"path": "micro"}}))

    ended = train(tmp_path / "run.json", tmp_path / "out", is_fork=True)

    assert ended.returncode == 0, ended.stderr
    probes = list(recorded(tmp_path / "out", Probe))
    assert {(p.probe, p.measure) for p in probes} == {
        ("perturbation", measure) for measure in ("change", "change_by_draw", "pass_at_k")
    }
    assert len({p.subject for p in probes}) == 1
    assert "1/1  perturbation of" in ended.stdout


def test_every_probe_of_two_runs_is_recorded_with_its_null(trained: list[Path], tmp_path: Path) -> None:
    probe_in(tmp_path, config_of(*trained))

    first, second = (f"{folder.name}@4" for folder in trained)
    probes = list(recorded(tmp_path, Probe))
    subjects = {(p.probe, p.subject, p.other) for p in probes if p.probe in OF_TWO}
    assert subjects == {(name, first, second) for name in OF_TWO}
    assert {(p.probe, p.subject) for p in probes if p.probe in OF_ONE} == {
        (name, subject) for name in OF_ONE for subject in (first, second)
    }
    assert {(p.subject, p.other) for p in probes if p.probe == "interpolation"} == {
        ("base", first),
        ("base", second),
        (first, second),
    }
    assert {p.probe for p in probes} == set(PROBES)
    with_null = [v for p in probes for v in p.values if v.null is not None and v.null_low is not None]
    assert len(with_null) > 100
    for value in (value for p in probes for value in p.values):
        assert math.isfinite(value.value)
        assert value.n > 0
    for value in with_null:
        assert value.null_high is not None and value.null_low is not None
        assert value.null_low <= value.null_high
    assert not (tmp_path / "rebuilt").exists(), "rebuilt weights are removed at the end"
    ends = [metric.values for metric in recorded(tmp_path, Metric)]
    assert sum(values["probe/records"] for values in ends) == len(probes)
    assert {values["probe/units"] for values in ends} == {float(len(ends))}


def test_ends_of_a_line_equal_evaluations_of_the_checkpoints(trained: list[Path], tmp_path: Path) -> None:
    probe_in(tmp_path / "probe", config_of(*trained, probes=["interpolation"]))
    evaluations: dict[str, float] = {}
    for folder in trained:
        plan = PLAN | {"samples": 0}
        evaluate_in(tmp_path / folder.name, evaluation_of(run=str(folder), steps="0, 4", plan=plan))
        values = values_of(tmp_path / folder.name)
        evaluations |= {"base": values[0]["reward/mean"], f"{folder.name}@4": values[4]["reward/mean"]}

    lines = [p for p in recorded(tmp_path / "probe", Probe) if p.measure == "reward"]
    assert len(lines) == 3
    for line in lines:
        rewards = {value.x: value.value for value in line.values}
        assert (rewards[0.0], rewards[1.0]) == (evaluations[line.subject], evaluations[line.other])


def test_a_restart_examines_the_same_steps_and_what_is_left(trained: list[Path], micro: Loaded, tmp_path: Path) -> None:
    growing = tmp_path / "growing"
    growing.mkdir()
    runs.run(micro, growing, iterations=2)
    config = config_of(growing, trained[0], probes=["magnitude", "cosine", "spectrum"])
    stop = Stop()
    with pytest.raises(Interrupted), _StopsAfter(tmp_path / "out", 2, stop) as records:
        probe(config, records, stop, lambda message, share: None)
    done = [metric.step for metric in recorded(tmp_path / "out", Metric)]
    runs.run(micro, growing, iterations=3)

    probe_in(tmp_path / "out", config)

    assert done == [1, 2]
    assert [metric.step for metric in recorded(tmp_path / "out", Metric)] == [1, 2, 3, 4, 5]
    subjects = {p.subject for p in recorded(tmp_path / "out", Probe)}
    assert subjects == {"growing@2", f"{trained[0].name}@4"}
    probe_in(tmp_path / "whole", config_of(f"{growing}@2", trained[0], probes=["magnitude", "cosine", "spectrum"]))
    assert list(recorded(tmp_path / "out", Probe)) == list(recorded(tmp_path / "whole", Probe))


class _StopsAfter(RecordWriter):
    """A writer that requests a stop after so many metric records."""

    def __init__(self, directory: Path, metrics: int, stop: Stop) -> None:
        super().__init__(directory, next_epoch(directory))
        self._metrics_left, self._stop = metrics, stop

    def write(self, record: Any) -> int:
        written = super().write(record)
        self._metrics_left -= isinstance(record, Metric)
        if self._metrics_left == 0:
            self._stop.set()
        return written


def test_what_leaves_nothing_to_probe_is_refused(trained: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"probe.probes: selects cosine, which compare two runs; probe.runs names 1"):
        probe_in(tmp_path / "one", config_of(trained[0], probes=["cosine"]))
    with pytest.raises(ConfigError, match=r"selects magnitude, spectrum, which need a base model: set probe.base"):
        probe_in(tmp_path / "no-base", config_of(probes=["magnitude", "spectrum"]))
    probe_in(tmp_path / "same", config_of(base="micro", probes=["interpolation"]))
    with pytest.raises(ConfigError, match="holds results of other settings"):
        probe_in(tmp_path / "same", config_of(base="micro", probes=["perturbation"]))


def test_settings_with_mistakes_are_refused_with_the_choices() -> None:
    with pytest.raises(ConfigError) as refused:
        config_of("a", "a", probes=["cosin", "audit", "audit"], groups=["heads"], temperatures="0, 1")
    message = str(refused.value)
    for part in (
        "probe.probes: names 'cosin'; the choices are magnitude, spectrum, cosine",
        "probe.probes: names audit more than once",
        "probe.groups: names 'heads'; the choices are all, embedding, attention, mlp, norm, head, or layers such as",
        "probe.temperatures: must be above 0",
        "probe.runs: names a more than once",
    ):
        assert part in message, message
    with pytest.raises(ConfigError, match=r"probe.sigmas: must be numbers separated by commas, not 'many'"):
        config_of(sigmas="many")
    with pytest.raises(ConfigError, match="for each σ and group are 12000 perturbed models, more than 10000"):
        config_of(sigmas="0.1, 0.2, 0.3", groups=["all", "attention", "mlp", "head"], draws=1000)
    with pytest.raises(ConfigError, match="names 9 runs; at most 8"):
        config_of(*"abcdefghi")
