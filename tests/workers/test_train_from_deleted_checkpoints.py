"""The trainer rebuilds a deleted checkpoint of an ES run that it is to resume from, or to take as its model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workers.engines.es.checkpoints import checkpoint, files
from tests.workers.training_process import run_json, train_here
from workers.checkpoint_folders import rebuilt_address
from workers.models.save import weights_sha256

ES = {"iterations": 3, "checkpoint_every": 1, "population": 2, "prompts": 2, "max_new_tokens": 4}
EVALUATION = {"every": 0, "prompts": 2}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the first attempt of a run, which has only its last checkpoint."""
    root = tmp_path_factory.mktemp("run")
    config = run_json(root, "es-micro", es=ES, evaluation=EVALUATION)
    assert train_here(config, root / "esweb-x-a1")[0] == 0
    return root / "esweb-x-a1"


def test_resume_from_a_deleted_checkpoint_is_exact(first: Path) -> None:
    deleted, second = checkpoint(first, 1), first.with_name("esweb-x-a2")
    assert not deleted.exists()
    assert train_here(first.parent / "run.json", second, "--resume", str(deleted))[0] == 0
    assert weights_sha256(checkpoint(second, 3)) == weights_sha256(checkpoint(first, 3))
    assert not checkpoint(second, 2).exists()


def test_deleted_checkpoint_can_be_the_model_of_a_run(first: Path, tmp_path: Path) -> None:
    deleted = checkpoint(first, 2)
    config = run_json(
        tmp_path, "es-micro", model={"path": str(deleted)}, es=ES | {"iterations": 1}, evaluation=EVALUATION
    )
    assert train_here(config, tmp_path / "out")[0] == 0
    assert rebuilt_address(deleted).is_dir()
    assert files(checkpoint(tmp_path / "out", 1))


def test_checkpoint_that_cannot_be_rebuilt_is_refused(
    first: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = run_json(tmp_path, "es-micro", model={"path": str(checkpoint(first, 9))})
    assert train_here(config, tmp_path / "out")[0] == 2
    assert "model.path: names the checkpoint" in (errors := capsys.readouterr().err)
    assert "it is not on disk and cannot be rebuilt: step 9 is not in the run's replay log" in errors
