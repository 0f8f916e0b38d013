"""Settings of an adapter server: each mistake is named with what is valid."""

from __future__ import annotations

from typing import Any

import pytest

from workers.config import ConfigError, RunConfig

SERVER = {"server": "http://node7:8000", "kind": "sglang"}


def problems(**es: Any) -> dict[str, str]:
    with pytest.raises(ConfigError) as refused:
        RunConfig.from_json({"method": "es", "es": es})
    return {problem.path: problem.message for problem in refused.value.problems}


def test_server_at_an_address_and_a_registered_one_are_valid() -> None:
    for server, is_registered in (("http://node7:8000/prefix", False), ("qwen-7b", True)):
        es = {"backend": "adapter_server", "lora": {}, "adapter_server": {"server": server}}
        config = RunConfig.from_json({"method": "es", "es": es}).es_section().adapter_server
        assert config is not None and config.is_registered == is_registered


def test_back_end_needs_its_section_a_lora_and_one_engine() -> None:
    messages = problems(backend="adapter_server", engines=2)
    assert messages.keys() == {"es.lora", "es.adapter_server", "es.engines"}
    assert "vllm or sglang" in messages["es.adapter_server"]
    assert "not 2" in messages["es.engines"]


def test_section_without_its_back_end_is_refused() -> None:
    messages = problems(backend="native", adapter_server=SERVER, lora={})
    assert messages == {"es.adapter_server": "needs es.backend adapter_server, not native; or set it to null"}


@pytest.mark.parametrize("server", ["", "ftp://node7", "http://", "http://user:word@node7", "a name", "../x"])
def test_other_texts_are_no_server(server: str) -> None:
    messages = problems(backend="adapter_server", lora={}, adapter_server={"server": server})
    assert "an address such as http://node7:8000" in messages["es.adapter_server.server"]
