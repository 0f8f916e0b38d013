"""The processes of one machine listen on its loopback interface alone, unless one must reach another machine."""

from __future__ import annotations

from typing import Any

import pytest

from workers.config import RunConfig
from workers.trainer_processes.layout import Rank, environment_of

ALL = {"GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}


def interfaces(nodes: int = 1, **grpo: Any) -> dict[str, str]:
    """Return the variables of the first process that limit its network interfaces."""
    config = {"method": "grpo", "grpo": grpo, "compute": {"gpus": 2, "nodes": nodes}}
    environment = environment_of(RunConfig.from_json(config), Rank(0, 0, 0), "file:///tmp/rendezvous")
    return {name: value for name, value in environment.items() if name.endswith("_SOCKET_IFNAME")}


@pytest.mark.parametrize("server", ["http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000"])
def test_one_machine_uses_loopback_alone(server: str) -> None:
    assert interfaces() == ALL
    assert interfaces(vllm={"mode": "colocate"}) == ALL
    assert interfaces(vllm={"mode": "server", "server": server}) == ALL


def test_weights_reach_a_server_on_another_machine() -> None:
    assert interfaces(vllm={"mode": "server", "server": "http://node7:8000"}) == {"GLOO_SOCKET_IFNAME": "lo"}


def test_several_nodes_use_all_interfaces() -> None:
    assert interfaces(nodes=2) == {}
