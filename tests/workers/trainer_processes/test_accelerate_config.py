"""The distribution that esweb sets equals the one that accelerate's own launcher makes of the file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env

from tests.cases import each_case
from workers.config import ConfigError, RunConfig
from workers.trainer_processes.accelerate_config import accelerate_yaml, variables
from workers.trainer_processes.layout import environment_of, ranks_of, threads_of


def config_of(sharding: str = "none", **compute: Any) -> RunConfig:
    """Return the config of a GRPO run, by default on four GPUs."""
    compute = {"gpus": 4, "cores": 8} | compute
    return RunConfig.from_json({"method": "grpo", "grpo": {"sharding": sharding}, "compute": compute})


def launched(config: RunConfig, folder: Path) -> dict[str, str]:
    """Return the variables that `accelerate launch` would set for this file."""
    path = folder / "accelerate.yaml"
    path.write_text(accelerate_yaml(config), encoding="utf-8")
    arguments, defaults, _ = _validate_launch_command(
        launch_command_parser().parse_args(["--config_file", str(path), "program.py"])
    )
    if arguments.use_deepspeed:
        arguments.deepspeed_fields_from_accelerate_config = ",".join(defaults.deepspeed_config)
        _, environment = prepare_deepspeed_cmd_env(arguments)
    else:
        environment = prepare_multi_gpu_env(arguments)
    return {name: value for name, value in environment.items() if os.environ.get(name) != value}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("sharding", ["fsdp", "zero2"])
def test_variables_are_those_of_accelerates_launcher(sharding: str, tmp_path: Path) -> None:
    config = config_of(sharding)
    ours, theirs = variables(config), launched(config, tmp_path)

    assert ours
    assert {name: theirs.get(name) for name in ours} == ours


@pytest.mark.parametrize(
    ("config", "kind", "processes"),
    [
        (config_of(), "MULTI_GPU", 4),
        (config_of("fsdp", nodes=2), "FSDP", 8),
        (config_of("zero2"), "DEEPSPEED", 4),
        (config_of(gpus=0, nodes=2), "MULTI_CPU", 2),
    ],
)
def test_file_is_read_by_accelerate(config: RunConfig, kind: str, processes: int, tmp_path: Path) -> None:
    path = tmp_path / "accelerate.yaml"
    path.write_text(accelerate_yaml(config), encoding="utf-8")
    read: Any = load_config_from_file(str(path))

    assert read.distributed_type.value == kind
    assert (read.num_processes, read.num_machines) == (processes, config.compute.nodes)
    assert read.mixed_precision == ("bf16" if config.compute.gpus else "no")


def test_processes_of_a_node_are_next_to_each_other() -> None:
    config = config_of(nodes=2, gpus=2)
    environments = [environment_of(config, rank, "tcp://10.0.0.1:4000") for rank in ranks_of(config)]

    seen = [(e["RANK"], e["LOCAL_RANK"], e["WORLD_SIZE"], e["LOCAL_WORLD_SIZE"]) for e in environments]
    assert seen == [("0", "0", "4", "2"), ("1", "1", "4", "2"), ("2", "0", "4", "2"), ("3", "1", "4", "2")]
    assert {(e["MASTER_ADDR"], e["MASTER_PORT"]) for e in environments} == {("10.0.0.1", "4000")}


def test_processes_of_one_machine_listen_on_loopback_alone() -> None:
    (environment, *_) = (environment_of(config_of(), rank, "file:///meeting") for rank in ranks_of(config_of()))

    assert (environment["GLOO_SOCKET_IFNAME"], environment["NCCL_SOCKET_IFNAME"]) == ("lo", "lo")
    assert "MASTER_ADDR" not in environment


def test_processes_share_the_cores_of_their_node() -> None:
    assert (threads_of(config_of()), threads_of(config_of(cores=2)), threads_of(config_of(gpus=0))) == (2, 1, 8)


@each_case(
    ("grpo", "compute", "message"),
    [
        ({"sharding": "fsdp"}, {}, "grpo.sharding: must be none, not fsdp: it splits the training state over several"),
        ({"sharding": "fsdp", "processes_per_node": 2}, {}, "or set compute.gpus"),
        ({"sharding": "fsdp", "lora": {}}, {"gpus": 2}, "must be none with grpo.lora"),
        ({"processes_per_node": 3}, {"gpus": 2}, "must be 0 to 2, the GPUs of a node, not 3"),
        ({"vllm": {}}, {}, "grpo.vllm: needs GPUs"),
        ({"vllm": {"tensor_parallel_size": 3}}, {"gpus": 4}, "must divide the 4 processes of a node"),
        ({"vllm": {"mode": "server"}}, {"gpus": 1}, "mode server needs the address of a server"),
        ({"vllm": {"server": "http://n:1"}}, {"gpus": 1}, "must be empty in mode colocate"),
        ({"per_device_train_batch_size": 3, "num_generations": 4}, {"gpus": 2}, "× 2 processes = 6, not 4"),
    ],
)
def test_impossible_processes_are_refused(grpo: dict[str, Any], compute: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        RunConfig.from_json({"method": "grpo", "grpo": grpo, "compute": compute})


def test_batch_is_that_of_all_processes() -> None:
    grpo = {"per_device_train_batch_size": 2, "num_generations": 8}
    config = RunConfig.from_json({"method": "grpo", "grpo": grpo, "compute": {"gpus": 4}})

    assert config.processes == 4
