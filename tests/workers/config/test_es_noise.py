"""What a kind of ES noise asks of a run: the back ends that draw it, and the weights that its members share."""

from __future__ import annotations

import pytest

from workers.config import ConfigError, EsConfig, LoraConfig, RunConfig
from workers.config.es_noise import NOISES, NoiseFacts


def test_noise_is_refused_with_back_ends_that_cannot_draw_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NOISES, "correlated", NoiseFacts(back_ends=("native",)))

    RunConfig.from_json({"method": "es", "es": {"noise": "correlated"}})
    with pytest.raises(ConfigError, match=r"es\.noise: must be full or low_rank with es\.backend vllm, not correlated"):
        RunConfig.from_json({"method": "es", "es": {"noise": "correlated", "backend": "vllm"}})


def test_factor_rank_is_that_of_what_members_differ_in() -> None:
    lora = LoraConfig(rank=16)

    assert EsConfig(rank=3).factor_rank == EsConfig(noise="correlated", rank=3).factor_rank == 0
    assert EsConfig(noise="low_rank", rank=3).factor_rank == 3
    assert EsConfig(lora=lora).factor_rank == EsConfig(noise="low_rank", rank=3, lora=lora).factor_rank == 16
