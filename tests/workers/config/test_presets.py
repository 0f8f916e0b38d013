"""Presets hold only differences from the defaults, and a reason."""

from __future__ import annotations

import pytest

from tests.cases import each_case
from workers.config import ConfigError, RunConfig, preset, presets


@each_case("name", presets())
def test_preset_is_valid_config_with_reason(name: str) -> None:
    selected = preset(name)
    assert RunConfig.from_json(selected.config).method == name.split("-")[0]
    assert selected.why.endswith(".")


def test_an_unknown_preset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="es-conciseness-paper, es-countdown-paper"):
        preset("es-huge")
