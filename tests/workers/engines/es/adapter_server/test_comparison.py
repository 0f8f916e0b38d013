"""A server that would not answer as the run's own model does is refused before training, with the reason."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.workers.engines.es.adapter_server.server import AdapterProgram, Handler, Kind, ServedModel, serving
from tests.workers.engines.es.adapter_server.test_responses import KINDS, LORAS, backends
from tests.workers.engines.es.population import digest
from workers.config import ConfigError
from workers.engines.es.adapter_server import AdapterServerFailed
from workers.models import Loaded


def with_other_weights(micro: Loaded) -> Loaded:
    """Return a copy of the model of which every weight is 5 % larger."""
    other = replace(micro, model=copy.deepcopy(micro.model))
    with torch.no_grad():
        for parameter in other.model.parameters():
            parameter.mul_(1.05)
    return other


@pytest.mark.parametrize("kind", KINDS)
def test_server_with_another_base_model_is_refused(micro: Loaded, tmp_path: Path, kind: Kind) -> None:
    with serving(with_other_weights(micro), kind) as server, pytest.raises(ConfigError) as refused:
        backends(micro, server, tmp_path, LORAS["default"])
    (problem,) = refused.value.problems
    assert problem.path == "es.adapter_server.server"
    assert server.url in problem.message and "serves another model than model.path" in problem.message


@pytest.mark.parametrize("kind", KINDS)
def test_server_that_ignores_adapters_is_refused(micro: Loaded, tmp_path: Path, kind: Kind) -> None:
    with serving(micro, kind) as server:
        server.ignores_adapters = True
        with pytest.raises(ConfigError, match="ignores adapters"):
            backends(micro, server, tmp_path, LORAS["default"])


def without_alpha(folder: Path) -> None:
    """Change an adapter's config as a server would read it that does not know alpha."""
    file = folder / "adapter_config.json"
    config = json.loads(file.read_bytes())
    file.write_text(json.dumps(config | {"lora_alpha": config["r"]}))


def without_layers(folder: Path) -> None:
    """Change an adapter's config as a server would read it that applies the first layer only."""
    file = folder / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_bytes()) | {"layers_to_transform": [0]}))


@pytest.mark.parametrize("misread", [without_alpha, without_layers])
def test_server_that_applies_adapters_in_another_way_is_refused(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, misread: Callable[[Path], None]
) -> None:
    load = ServedModel.load

    def load_misread(self: ServedModel, name: str, folder: Path) -> None:
        misread(folder)
        load(self, name, folder)

    monkeypatch.setattr(ServedModel, "load", load_misread)
    with serving(micro, "vllm") as server, pytest.raises(ConfigError, match="applies adapters in another way"):
        backends(micro, server, tmp_path, LORAS["default"])


def test_comparison_leaves_the_centre_in_the_model(micro: Loaded, tmp_path: Path) -> None:
    with serving(micro, "vllm") as server:
        served, native = backends(micro, server, tmp_path, LORAS["random, in units of the weights"])
    assert digest(served.model) == digest(native.model) != digest(micro.model)


def test_server_without_routes_for_adapters_is_refused_with_its_options(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Handler._handle

    def without_route(self: Any, body: Any) -> None:
        if self.path == "/v1/load_lora_adapter":
            self.reply(404, '{"detail":"Not Found"}')
        else:
            answer(self, body)

    monkeypatch.setattr(Handler, "_handle", without_route)
    with serving(micro, "vllm") as server, pytest.raises(AdapterServerFailed, match="VLLM_ALLOW_RUNTIME_LORA_UPDATING"):
        backends(micro, server, tmp_path, LORAS["default"])


def test_unknown_name_of_the_base_model_is_refused_with_the_choices(micro: Loaded, tmp_path: Path) -> None:
    def connect(server: AdapterProgram, model: str) -> None:
        backends(micro, server, tmp_path, LORAS["default"], model=model)

    with serving(micro, "vllm") as server:
        connect(server, "base")
        with pytest.raises(AdapterServerFailed, match=r"serves no base model bass; .* must be one of base"):
            connect(server, "bass")
