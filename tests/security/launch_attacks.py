"""Names of files, hosts and code, and configs with fields that take them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from runs.models import Attempt, Cluster, Sweep
from workers.config import RunConfig
from workers.config.resources import resources

ATTACKS = (
    "/etc/passwd",
    "../../../admin-password",
    "../../../runs/abcdefghjk/esweb-abcdefghjk-a1/checkpoints/step-000005",
    "./folder",
    "folder/../../secret",
    "~/secret",
    "file:///etc/passwd",
    "http://169.254.169.254/latest/meta-data",
    "folder\\..\\secret",
    ".ssh/id_rsa",
    "link/secret",
    "folder//secret",
    "%2e%2e/secret",
    "$HOME/secret",
    "name\n/etc/passwd",
    "run:abcdefghjk@5",
    "a/" * 11 + "a",
)
INSIDE = (
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "0.1.2.3", "169.254.169.254", "255.255.255.255", "240.0.0.1", "224.0.0.1",  # noqa: S104
    "::1", "::", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::7f00:1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1:7f00:0:100::", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:7f00:1::",
    "2001:0:5db8:d822::80ff:fffe", "fe80::1", "fec0::1", "ff02::1",
)  # fmt: skip
"""Addresses of this machine and of its link, and IPv6 addresses that gateways translate to these."""
SHAPED = (
    "task.options.scorer", "task.options.path", "scorer.secret", "es.adapter_server.server", "grpo.vllm.server",
    "tracking.wandb_project", "tracking.wandb_entity",
)  # fmt: skip
"""Marked fields whose shape refuses paths before any rule of a site is checked."""
PLAIN_TEXTS = (
    "task.options.system_prompt", "task.options.options", "es.lora.targets", "grpo.lora.targets", "scorer.name",
    "scorer.reward_label", "scorer.cost_label", "scorer.host", "compute.cluster", "compute.partition",
    "compute.gpu_type", "task.prefill",
    "task.options.instruction", "evaluate.steps", "evaluate.prior_tasks", "probe.probes", "probe.sigmas",
    "probe.groups", "probe.temperatures", "es.lora.layers", "es.adapter_server.model",
)  # fmt: skip
"""Fields of free text that name no file, no service and no code. Those of prior tasks are marked in each of them."""
CONFIGS: dict[str, dict[str, Any]] = {
    "conciseness": {"method": "es", "es": {}, "task": {"name": "conciseness"}},
    "countdown": {"method": "grpo", "grpo": {}, "task": {"name": "countdown"}},
    "safety": {"method": "es", "es": {}, "task": {"name": "safety"}},
    "math": {"method": "es", "es": {}, "task": {"name": "math"}},
    "choice": {"method": "es", "es": {}, "task": {"name": "choice"}},
    "scorer": {"method": "scorer", "scorer": {}},
    "evaluate": {"method": "evaluate", "evaluate": {}},
    "probe": {"method": "probe", "probe": {}},
    "adapter_server": {
        "method": "es",
        "es": {"backend": "adapter_server", "lora": {}, "adapter_server": {"server": "http://127.0.0.1:8000"}},
    },
}
Attack = tuple[dict[str, Any], str]
Attacks = Callable[[], Iterator[Attack]]


@pytest.fixture
def folder(local: Cluster, tmp_path: Path) -> Path:
    """Return a folder that the cluster allows; `link` in it leads to a secret outside."""
    allowed, secret = tmp_path / "allowed", tmp_path / "outside"
    (allowed / "folder").mkdir(parents=True)
    secret.mkdir()
    (secret / "secret").write_text("the admin's password")
    (allowed / "link").symlink_to(secret)
    local.config = {"data_paths": [str(allowed)]}
    local.save()
    return allowed


def free_text_paths(config: dict[str, Any]) -> list[str]:
    """Return the paths of the marked fields of a config that take any text."""
    return [r.path for r in resources(RunConfig.from_json(config)) if r.path not in SHAPED and r.path != "grpo.extra"]


def as_value(path: str, value: str) -> Any:
    """Return the value in the form that the field takes: probe.runs is a list."""
    return [value] if path == "probe.runs" else value


def with_attack(config: dict[str, Any], value: str) -> dict[str, Any]:
    """Return the config with the value at each marked field."""
    out: dict[str, Any] = json.loads(json.dumps(config))
    for path in free_text_paths(config):
        *sections, name = path.split(".")
        section = out
        for part in sections:
            section = section[int(part)] if isinstance(section, list) else section.setdefault(part, {})
        section[name] = as_value(path, value)
    return out


def all_attacks() -> Iterator[Attack]:
    """Yield every config with every attack."""
    for config in CONFIGS.values():
        for value in ATTACKS:
            yield config, value


def each_attack_once() -> Iterator[Attack]:
    """Yield every attack with one config, and every config with one attack at least."""
    assert len(ATTACKS) >= len(CONFIGS)
    return zip(itertools.cycle(CONFIGS.values()), ATTACKS, strict=False)


# One rule refuses the attacks of all ways to launch: `make test` sends all of them one way, and a few the other ways.
attack_sets = pytest.mark.parametrize("attacks", [each_attack_once, pytest.param(all_attacks, marks=pytest.mark.soak)])


def post(client: Client, address: str, body: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/{address}", body, content_type="application/json")


def check_nothing_created() -> None:
    assert not Attempt.objects.exists() and not Sweep.objects.exists()
