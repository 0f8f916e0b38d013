"""The weights of runs and steps that a probe names: checkpoints, rebuilt steps, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.workers.engines.es import runs
from workers.config import ConfigError, RunConfig
from workers.config.resources import locate
from workers.engines.es.rebuild import rebuild
from workers.models import Loaded
from workers.models.save import weights_sha256
from workers.probes.weights import Subject
from workers.probes.weights.open_subjects import open_subjects

LAST = 4


@pytest.fixture(scope="module")
def trained(micro: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ES run of four steps, with checkpoints after 2 and 4."""
    directory = tmp_path_factory.mktemp("k3m9x2p7qa")
    runs.run(micro, directory, iterations=LAST, checkpoint_every=2)
    return directory


def opened(
    tmp_path: Path, *names: str | Path, model: str = "micro", base: str = "", steps: tuple[int, ...] = ()
) -> list[Subject]:
    data = {"method": "probe", "model": {"path": model, "device": "cpu"}}
    data |= {"probe": {"runs": list(map(str, names)), "base": base}}
    config = RunConfig.from_json(data)
    assert config.probe is not None
    return open_subjects(locate(config, {}), config.probe, steps, tmp_path / "rebuilt", lambda message, share: None)


def test_the_last_step_has_its_checkpoint(trained: Path, micro: Loaded, tmp_path: Path) -> None:
    (subject,) = opened(tmp_path, trained)

    assert str(subject) == f"{trained.name}@{LAST}"
    assert subject.tuned == trained / "checkpoints" / "step-000004"
    assert (subject.base, subject.method) == (micro.path, "es")
    assert list(subject.saved) == [2, 4]
    assert subject.trail is not None
    assert len(subject.trail.written) == LAST
    assert not (tmp_path / "rebuilt").exists()


def test_a_step_without_a_checkpoint_is_rebuilt_to_the_bit(trained: Path, tmp_path: Path) -> None:
    third, second = opened(tmp_path, f"{trained}@3", f"{trained}@2")

    rebuild(trained, 3, tmp_path / "expected", from_base=True, device="cpu")
    assert third.tuned.is_relative_to(tmp_path / "rebuilt")
    assert weights_sha256(third.tuned) == weights_sha256(tmp_path / "expected")
    assert list(third.saved) == [2]
    assert second.tuned == trained / "checkpoints" / "step-000002"
    assert opened(tmp_path, trained, steps=(3,))[0].tuned == third.tuned, "a restart uses what lies there"


def test_a_run_without_a_log_has_its_checkpoints_alone(trained: Path, micro: Loaded, tmp_path: Path) -> None:
    attempt = tmp_path / "g0g0g0g0g0" / "esweb-g0g0g0g0g0-a1"
    shutil.copytree(trained / "checkpoints", attempt / "checkpoints")
    (attempt / "run.json").write_text(json.dumps({"method": "grpo", "grpo": {}, "model": {"path": "micro"}}))

    (subject,) = opened(tmp_path, attempt.parent)
    assert (str(subject), subject.method, subject.trail) == ("g0g0g0g0g0@4", "grpo", None)
    assert subject.base == micro.path
    with pytest.raises(ConfigError, match="g0g0g0g0g0 has no checkpoint of step 3; it has 2, 4"):
        opened(tmp_path, f"{attempt.parent}@3")
    (checkpoint,) = opened(tmp_path, model=str(attempt / "checkpoints" / "step-000002"))
    assert (str(checkpoint), checkpoint.base) == ("g0g0g0g0g0@2", None)


def test_a_model_alone_has_a_base_only_if_one_is_given(micro: Loaded, tmp_path: Path) -> None:
    assert opened(tmp_path)[0].base is None
    (subject,) = opened(tmp_path, base="micro")
    assert (subject.tuned, subject.base, subject.step) == (micro.path, micro.path, 0)


def test_what_cannot_be_examined_is_refused(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="step 9 is not in the run's replay log, which holds the steps 0 to 4"):
        opened(tmp_path, f"{trained}@9")
    with pytest.raises(ConfigError, match="step 0 is the base model; name a later step"):
        opened(tmp_path, f"{trained}@0")
    with pytest.raises(ConfigError, match="names the same step of a run twice"):
        opened(tmp_path, trained, f"{trained}@4")
    with pytest.raises(ConfigError, match="neither the attempts of a run"):
        opened(tmp_path, tmp_path)
    with pytest.raises(ConfigError, match=r"probe.base: .*has the shape"):
        opened(tmp_path, model="micro", base="tiny")
    (tmp_path / "esweb-g-a1" / "checkpoints").mkdir(parents=True)
    with pytest.raises(ConfigError, match="has saved no checkpoint, and only ES runs can be rebuilt"):
        opened(tmp_path, tmp_path)
