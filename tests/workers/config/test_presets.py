"""Presets hold only what differs from the defaults, and say why."""

from __future__ import annotations

import pytest

from workers.config import ConfigError, RunConfig, preset, presets


@pytest.mark.parametrize("name", presets())
def test_a_preset_is_a_config_with_a_reason(name: str) -> None:
    chosen = preset(name)
    assert RunConfig.from_json(chosen.config).method == name.split("-")[0]
    assert chosen.why.endswith(".")


def test_an_unknown_preset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="es-paper"):
        preset("es-huge")
