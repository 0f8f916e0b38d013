"""JSON that is nested too deep is refused with a sentence at every place that reads a config."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workers.config import ConfigError, RunConfig
from workers.config.shallow_json import MAX_DEPTH, TooDeep, loads


def nested(depth: int, kind: type = dict) -> Any:
    """Return lists or objects in each other."""
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if kind is dict else [value]
    return value


@pytest.mark.parametrize("mark", ["[]", "{}"])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 900, 100_000])
def test_loads_refuses_deep_json(mark: str, depth: int) -> None:
    begin = "[" if mark == "[]" else '{"a":'
    with pytest.raises(TooDeep, match=f"at most {MAX_DEPTH} deep"):
        loads(begin * depth + "1" + mark[1] * depth)


def test_loads_accepts_the_limit() -> None:
    assert loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)


@pytest.mark.parametrize("kind", [dict, list])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 900, 5000])
def test_config_refuses_deep_values_anywhere(depth: int, kind: type, tmp_path: Path) -> None:
    deep = nested(depth, kind)
    own = {"name": "own", "options": {"path": "a:B", "options": deep}}
    for config in ({"method": "es", "es": {}, "task": own}, {"method": "grpo", "grpo": {"extra": deep}}, deep):
        with pytest.raises(ConfigError, match=f"at most {MAX_DEPTH} deep"):
            RunConfig.from_json(config)
    (tmp_path / "run.json").write_text("[" * depth + "]" * depth)
    with pytest.raises(ConfigError, match=f"at most {MAX_DEPTH} deep"):
        RunConfig.read(tmp_path / "run.json")
