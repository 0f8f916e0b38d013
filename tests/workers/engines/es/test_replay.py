"""Any step is rebuilt to the bit from the replay log: the folder equals the one that the run would have saved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.workers.engines.es.checkpoints import checkpoint, files, log_lines, stopped_and_resumed
from tests.workers.engines.es.runs import Conciseness, run
from workers.config import ModelConfig
from workers.engines.context import step_of
from workers.engines.es.rebuild import rebuild
from workers.engines.es.state import State
from workers.models import Loaded, load
from workers.models.save import weights_sha256
from workers.tasks import Example, Score

LAST = 4
KINDS: dict[str, dict[str, Any]] = {
    "full": {"noise": "full"},
    "low rank, antithetic": {"noise": "low_rank", "rank": 2, "antithetic": True},
    "correlated, layer scale": {"noise": "correlated", "layer_scale": True, "sigma": 0.2, "alpha": 0.2},
    "lora": {"lora": {"rank": 2}},
}


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())
def test_straight_resumed_and_rebuilt_checkpoints_are_equal(
    micro: Loaded, tmp_path: Path, options: dict[str, Any]
) -> None:
    options = {"iterations": LAST, "checkpoint_every": 2, **options}
    straight, root = tmp_path / "straight", tmp_path / "cut"
    run(micro, straight, **options)
    stopped_and_resumed(micro, root, 2, **options)
    rebuild(root, 3, tmp_path / "three")
    with threads(2):
        run(micro, tmp_path / "straight-on-two", **options)
        rebuild(straight, LAST, tmp_path / "from-base", from_base=True)
        rebuild(root, LAST, tmp_path / "cut-from-base", from_base=True)
        rebuild(root, 3, tmp_path / "three-on-two")
    first = files(checkpoint(straight, LAST))
    ends = {
        "straight on two": files(checkpoint(tmp_path / "straight-on-two", LAST)),
        "resumed": files(checkpoint(root / "esweb-x-a2", LAST)),
        "rebuilt on two": files(tmp_path / "from-base"),
        "rebuilt on two from two attempts": files(tmp_path / "cut-from-base"),
    }
    assert weights_sha256(tmp_path / "from-base") != weights_sha256(micro.path)
    assert [name for name, end in ends.items() if end != first] == []
    assert files(tmp_path / "three") == files(tmp_path / "three-on-two")


def test_rebuilt_checkpoint_can_be_resumed(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path / "straight", iterations=4)
    rebuild(tmp_path / "straight", 3, tmp_path / "step-000003")
    run(micro, tmp_path / "on", resume=tmp_path / "step-000003", iterations=4)
    assert files(checkpoint(tmp_path / "on", 4)) == files(checkpoint(tmp_path / "straight", 4))


@pytest.mark.parametrize("options", [{"noise": "full"}, {"lora": {"rank": 2}}], ids=str)
def test_16_bit_run_is_rebuilt_with_its_master(tmp_path: Path, options: dict[str, Any]) -> None:
    half = load(ModelConfig(path="micro", device="cpu", dtype="bfloat16"))
    options = {"iterations": 4, "checkpoint_every": 2, **options}
    run(half, tmp_path / "straight", **options)
    run(half, tmp_path / "on", resume=checkpoint(tmp_path / "straight", 2), **options)
    rebuild(tmp_path / "straight", 4, tmp_path / "rebuilt", from_base=True)
    straight = files(checkpoint(tmp_path / "straight", 4))
    assert len([name for name in straight if name.endswith(".safetensors")]) == 2
    assert files(tmp_path / "rebuilt") == files(checkpoint(tmp_path / "on", 4)) == straight


class Alike(Conciseness):
    """Every answer is worth the same."""

    def score(self, example: Example, completion: str) -> Score:
        return Score(1.0)


class Fails(Conciseness):
    """Some answers to training prompts have no reward."""

    def score(self, example: Example, completion: str) -> Score:
        if len(completion) % 10 == 3 and example in self.examples("train"):
            raise ZeroDivisionError
        return super().score(example, completion)


def test_dead_iterations_and_dropped_members_are_rebuilt(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path / "run", Alike(), iterations=2, on_failure="drop_member")
    run(micro, tmp_path / "run", Fails(), iterations=8, on_failure="drop_member")
    updates = [line for line in log_lines(tmp_path / "run") if "step" in line]
    sizes = [len(update["seeds"]) for update in updates]
    assert sizes[:2] == [0, 0]
    assert set(range(1, 6)) & set(sizes[2:]), f"a member must be dropped for this to say anything: {sizes}"
    rebuild(tmp_path / "run", 8, tmp_path / "rebuilt", from_base=True)
    assert files(tmp_path / "rebuilt") == files(checkpoint(tmp_path / "run", 8))


def test_abandoned_trajectory_is_not_used_in_rebuild(micro: Loaded, tmp_path: Path) -> None:
    first, second = tmp_path / "esweb-x-a1", tmp_path / "esweb-x-a2"
    run(micro, first, iterations=6, checkpoint_every=2)
    # From step 2 on with other noise, and fewer steps.
    run(micro, second, resume=checkpoint(first, 2), iterations=4, checkpoint_every=2, noise="low_rank")
    for step, folder in {2: first, 4: second, 6: first}.items():
        rebuild(tmp_path, step, tmp_path / f"rebuilt-{step}", from_base=True)
        assert files(tmp_path / f"rebuilt-{step}") == files(checkpoint(folder, step))
    rebuild(tmp_path, 5, tmp_path / "rebuilt-5")
    assert State.load(tmp_path / "rebuilt-5").lineage != State.load(checkpoint(second, 4)).lineage


def test_rebuild_starts_from_nearest_valid_checkpoint(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path / "run", iterations=8, checkpoint_every=3)
    progress: list[tuple[int, int]] = []

    def parts(step: int, **options: Any) -> int:
        progress.clear()
        rebuild(tmp_path / "run", step, tmp_path / f"{len(list(tmp_path.iterdir()))}", progress=record, **options)
        return progress[-1][1]

    def record(done: int, total: int) -> None:
        progress.append((done, total))

    assert parts(7) == 1 + 1
    assert progress == [(0, 2), (1, 2)]
    assert parts(7, from_base=True) == 7 + 1
    assert parts(3) == 0 + 1
    # One whose weights are not what the run recorded, and one that no record confirms, are skipped.
    with (checkpoint(tmp_path / "run", 6) / "model.safetensors").open("r+b") as weights:
        weights.seek(-1, 2)
        weights.write(b"\x01")
    assert parts(7) == 4 + 1
    (tmp_path / "run/records.0.jsonl").unlink()
    assert parts(7) == 7 + 1


def test_torn_log_is_continued_by_resume(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path / "straight", iterations=4, checkpoint_every=2)
    log = tmp_path / "straight/replay.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    run(micro, tmp_path / "cut", iterations=2, checkpoint_every=2)
    torn = tmp_path / "cut/replay.jsonl"
    torn.write_bytes(torn.read_bytes() + b'\n{"step":3,"parent":"' + b"\n\xff\xfe")
    run(micro, tmp_path / "cut", iterations=4, checkpoint_every=2)
    assert len(torn.read_bytes().splitlines()) > len(lines)
    rebuild(tmp_path / "cut", 4, tmp_path / "rebuilt", from_base=True)
    assert files(tmp_path / "rebuilt") == files(checkpoint(tmp_path / "straight", 4))


def test_step_0_is_the_base_model(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path / "run", iterations=2)
    assert rebuild(tmp_path / "run", 0, tmp_path / "step-000000") == weights_sha256(micro.path)
    assert step_of(tmp_path / "step-000000") == State.load(tmp_path / "step-000000").step == 0
