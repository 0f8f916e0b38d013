"""GPUs in the generic resources of Slurm's nodes: the types may look like numbers, and the last field is the count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases import each_case
from workers.config import ConfigError, RunConfig, preset
from workers.executors.base import NodeShape, Spec
from workers.executors.slurm import Site
from workers.executors.slurm.inventory import count_shards, parse_gpus, parse_nodes, parse_shards
from workers.executors.slurm.job import sbatch_argv

CASES = Path(__file__).parents[3].parent / "shared/data/cases-3/gres-digit/expected.json"


@each_case(
    ("resources", "gpus"),
    [
        ("gpu:2080ti:4", {"2080ti": 4}), ("gpu:3090:8", {"3090": 8}), ("gpu:1g.10gb:7", {"1g.10gb": 7}),
        ("gpu:1g.10gb+me:1", {"1g.10gb+me": 1}), ("gpu:h100:8(S:0-1)", {"h100": 8}), ("gpu:a100:4(S:0,1)", {"a100": 4}),
        ("gpu:tesla:2(IDX:0-1)", {"tesla": 2}), ("gpu:tesla:2(IDX:0,3),gpu:k80:1", {"tesla": 2, "k80": 1}),
        ("gpu:a100:no_consume:2", {"a100": 2}), ("gpu:no_consume:2", {"": 2}), ("gpu:2K", {"": 2048}),
        ("gpu:1080:2k", {"1080": 2048}), ("gpu:4", {"": 4}), ("gpu:3090", {"": 3090}), ("gpu", {"": 1}),
        ("gpu:a100", {"a100": 1}), ("gpu:1080:2,gpu:a6000:2", {"1080": 2, "a6000": 2}),
        ("gpu:a100:3,gpu:a100:1", {"a100": 4}), ("gpu:(null):4(S:0-3)", {"": 4}), ("gpu:h100:0", {}),
        ("mps:400,shard:32,gpu:2080ti:4(S:0-1),nic:2", {"2080ti": 4}), ("shard:a100:8", {}), ("mps:a100:400", {}),
        ("gpumem:gpu:4", {}), ("(null)", {}), ("", {}),
    ],
)  # fmt: skip
def test_count_is_the_last_field(resources: str, gpus: dict[str, int]) -> None:
    assert parse_gpus(resources) == gpus


@each_case(
    ("resources", "shards"),
    [
        ("gpu:a100:2,shard:a100:8", {"a100": 8}), ("gpu:2,shard:8", {"": 8}), ("gpu:a100:2", {"a100": 0}),
        ("gpu:a100:2(S:0),shard:a100:8(S:0),mps:200", {"a100": 8}), ("shard:8", {}), ("(null)", {}),
        # Slurm gives shards the type of their GPUs; without one they are those of all GPUs.
        ("gpu:1080:2,gpu:a6000:6,shard:32", {"1080": 8, "a6000": 24}),
        ("gpu:1080:2,gpu:a6000:2,shard:a6000:6", {"1080": 0, "a6000": 6}),
    ],
)  # fmt: skip
def test_shards_belong_to_their_gpus(resources: str, shards: dict[str, int]) -> None:
    assert parse_shards(resources) == shards


def test_number_of_shards_is_at_least_the_share_of_one_gpu() -> None:
    nodes = [
        NodeShape(1, 8, 0, 2, "a100", "gpu", 8),
        NodeShape(1, 8, 0, 1, "h100", "big", 30),
        NodeShape(1, 8, 0, 4, "t4", "old", 3),
    ]
    assert [count_shards(nodes, share, "a100") for share in (0.01, 0.25, 0.251, 0.5, 0.999)] == [1, 1, 2, 2, 4]
    assert [count_shards(nodes, share, "H100") for share in (0.1, 0.101)] == [3, 4]
    # A job that may run on both gets enough on each.
    assert (count_shards(nodes, 0.25), count_shards(nodes, 0.25, partition="gpu,old")) == (8, 1)
    # Three shards are none for one of four GPUs.
    assert count_shards(nodes, 0.25, "t4") == count_shards(nodes, 0.25, partition="old") == 0


def test_share_of_a_gpu_is_requested_as_shards(tmp_path: Path) -> None:
    spec = Spec("k", tmp_path, ("true",), gpus=0.5)
    assert "--gres=shard:4" in sbatch_argv(Site(), spec, 4)
    assert "--gres=shard:a100:4" in sbatch_argv(Site(gpu_type="a100"), spec, 4)
    assert "--gres=gpu:2" in sbatch_argv(Site(), Spec("k", tmp_path, ("true",), gpus=2.0))


def test_public_cases_are_read() -> None:
    if not CASES.exists():
        pytest.skip(f"{CASES} is not on this machine")
    for resources, (gpu_type, count) in json.loads(CASES.read_text()).items():
        [shape] = parse_nodes(f"gpu|64|256000|{resources}\n" * 4)
        assert (shape.count, shape.gpu_type, shape.gpus) == (4, gpu_type, count)


def test_nodes_with_cards_of_two_types_and_without_cards_are_read() -> None:
    text = "gpu|64|256000|gpu:1080:2(S:0),gpu:2080ti:4(S:1)\n" * 2 + "cpu|32+|128000+|(null)\n"
    assert parse_nodes(text) == [
        NodeShape(2, 64, 256000, 2, "1080", "gpu"),
        NodeShape(2, 64, 256000, 4, "2080ti", "gpu"),
        NodeShape(1, 32, 128000, 0, "", "cpu"),
    ]
    with pytest.raises(ValueError, match="unpack"):
        parse_nodes("gpu|64\n")


@each_case(
    ("typed", "requested"),
    [("2080ti", "gpu:2080ti:2"), ("1g.10gb", "gpu:1g.10gb:2"), ("3090", "gpu:3090:2"), (3090, "gpu:3090:2"),
     ("1g.10gb+me", "gpu:1g.10gb+me:2")],
)  # fmt: skip
def test_type_with_a_digit_first_is_requested(tmp_path: Path, typed: object, requested: str) -> None:
    """A launch by `--set compute.gpu_type=3090` sends a number."""
    config = {**preset("es-micro").config, "compute": {"gpus": 2, "gpu_type": typed}}
    compute = RunConfig.from_json(config).compute
    spec = Spec("k", tmp_path, ("true",), gpus=compute.gpus, gpu_type=compute.gpu_type)
    assert f"--gres={requested}" in sbatch_argv(Site(), spec)


def test_other_values_are_no_type_of_gpu() -> None:
    for wrong in (30.5, True, -1, 10**30, "a b", "gpu:4", "--x"):
        config = {**preset("es-micro").config, "compute": {"gpus": 2, "gpu_type": wrong}}
        with pytest.raises(ConfigError, match=r"compute\.gpu_type: must be "):
            RunConfig.from_json(config)
