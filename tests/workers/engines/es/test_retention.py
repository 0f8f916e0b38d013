"""An ES run deletes the checkpoints that its replay log rebuilds, and no other."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.workers.engines.es.checkpoints import checkpoint, files
from tests.workers.engines.es.runs import records_of, run
from workers.checkpoint_folders import MASTER, delete_unread, hold, lacks_master, rebuilt_address
from workers.config import ModelConfig
from workers.engines.es.rebuild import provide, rebuild
from workers.engines.es.replay_history import CannotReplay
from workers.models import Loaded, load
from workers.models.save import weights_sha256
from workers.records import Checkpoint

LAST = 4
OPTIONS: dict[str, Any] = {
    "iterations": LAST,
    "checkpoint_every": 1,
    "population": 2,
    "prompts": 2,
    "max_new_tokens": 2,
}


def saved_steps(directory: Path) -> list[int]:
    return sorted(int(folder.name[5:]) for folder in (directory / "checkpoints").glob("step-*"))


@pytest.fixture(scope="module")
def root(micro: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of a run with one attempt, which saved every iteration; the reader of one of them is killed."""
    root = tmp_path_factory.mktemp("run")
    attempt = root / "esweb-x-a1"
    (attempt / "checkpoints-readers").mkdir(parents=True)
    (attempt / "checkpoints-readers" / "step-000002@elsewhere@1").touch()
    run(micro, attempt, keep="last", **OPTIONS)
    return root


def test_newest_checkpoint_stays_with_those_that_are_read(root: Path) -> None:
    assert saved_steps(root / "esweb-x-a1") == [2, LAST]


def test_deleted_checkpoint_is_provided_with_its_recorded_hash(root: Path) -> None:
    (recorded,) = [c.sha256 for c in records_of(root / "esweb-x-a1", Checkpoint) if c.step == 3]
    address = checkpoint(root / "esweb-x-a1", 3)

    provided = provide(address)

    assert provided == rebuilt_address(address) == root / "rebuilt" / "step-000003"
    assert weights_sha256(provided) == recorded
    assert provide(address) == provided
    assert [path.name for path in provided.parent.iterdir()] == ["step-000003"]
    assert provide(checkpoint(root / "esweb-x-a1", LAST)) == checkpoint(root / "esweb-x-a1", LAST)


def test_step_that_was_never_made_is_not_provided(root: Path) -> None:
    with pytest.raises(CannotReplay, match="step 9 is not in the run's replay log, which holds the steps 0 to 4"):
        provide(checkpoint(root / "esweb-x-a1", 9))


def test_base_model_that_was_a_deleted_checkpoint_is_rebuilt(micro: Loaded, root: Path, tmp_path: Path) -> None:
    base = provide(checkpoint(root / "esweb-x-a1", 1))
    continued = load(ModelConfig(path=str(base), device="cpu", dtype="float32"))
    run(continued, tmp_path / "on", **OPTIONS | {"iterations": 1})
    shutil.rmtree(base)

    rebuild(tmp_path / "on", 1, tmp_path / "rebuilt", from_base=True)

    assert files(tmp_path / "rebuilt") == files(checkpoint(tmp_path / "on", 1))


def test_complete_16_bit_run_leaves_no_master_and_resumes_by_its_log(tmp_path: Path) -> None:
    half = load(ModelConfig(path="micro", device="cpu", dtype="bfloat16"))
    run(half, tmp_path / "straight", **OPTIONS)
    run(half, tmp_path / "cut", keep="last", **OPTIONS | {"iterations": 2})
    end = checkpoint(tmp_path / "cut", 2)
    assert (saved_steps(tmp_path / "cut"), lacks_master(end), (end / MASTER).exists()) == ([2], True, False)
    assert weights_sha256(end) == weights_sha256(checkpoint(tmp_path / "straight", 2))

    provided = provide(end)

    assert provided != end
    assert files(provided) == files(checkpoint(tmp_path / "straight", 2))
    run(half, tmp_path / "cut", resume=provided, **OPTIONS)
    assert files(checkpoint(tmp_path / "cut", LAST)) == files(checkpoint(tmp_path / "straight", LAST))


def test_run_deletes_checkpoints_of_attempts_whose_config_says_so(micro: Loaded, root: Path, tmp_path: Path) -> None:
    """Those of an earlier version stay, and so does everything if the log has a gap."""
    for name, keep in {"new": {"keep": "last"}, "old": {}}.items():
        attempts = tmp_path / name
        shutil.copytree(root / "esweb-x-a1", attempts / "esweb-x-a1", ignore=shutil.ignore_patterns("*readers"))
        (attempts / "esweb-x-a1" / "run.json").write_text(json.dumps({"method": "es", "es": keep}))
        start = checkpoint(attempts / "esweb-x-a1", 2)
        run(micro, attempts / "esweb-x-a2", resume=start, keep="last", **OPTIONS)
    run(micro, tmp_path / "elsewhere", resume=checkpoint(tmp_path / "old" / "esweb-x-a1", 2), keep="last", **OPTIONS)

    left = {name: saved_steps(tmp_path / name) for name in ("new/esweb-x-a1", "old/esweb-x-a1", "elsewhere")}
    assert left == {"new/esweb-x-a1": [], "old/esweb-x-a1": [2, LAST], "elsewhere": [3, LAST]}
    assert saved_steps(tmp_path / "new/esweb-x-a2") == saved_steps(tmp_path / "old/esweb-x-a2") == [LAST]


def test_checkpoint_is_deleted_once_its_reader_has_ended(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "checkpoints" / "step-000005"
    folder.mkdir(parents=True)
    (folder / "weights").touch()
    readers = tmp_path / "run" / "checkpoints-readers"
    readers.mkdir()
    mark = readers / "step-000005@elsewhere@17"
    mark.touch()
    assert not delete_unread(folder)
    assert [file.name for file in folder.iterdir()] == ["weights"]
    mark.unlink()
    hold(folder)
    assert delete_unread(folder)
    assert not folder.exists()
    assert delete_unread(folder)
