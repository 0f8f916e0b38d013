"""Losses of GRPO in a config: all of TRL's are valid, and a setting that a loss does not read is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import each_case
from workers.config import ConfigError, RunConfig
from workers.config.grpo_losses import LOSSES, READ_BY

VALID: list[dict[str, Any]] = [
    {"loss_type": "cispo", "extra": {"epsilon_high": 5.0}},
    {"loss_type": "sapo", "extra": {"sapo_temperature_neg": 1.1, "sapo_temperature_pos": 1}},
    {"loss_type": "luspo", "extra": {"importance_sampling_level": "sequence"}},
    {"loss_type": "vespo", "extra": {"vespo_k_pos": 2.0, "vespo_lambda_neg": 3.0}},
    {"loss_type": "grpo", "extra": {"importance_sampling_level": "sequence", "delta": 4.0}},
    {"loss_type": "dapo", "extra": {"delta": None}},
    {"beta": 0.1, "extra": {"use_bias_correction_kl": True}},
    {
        "loss_type": "vespo",
        "vllm": {"mode": "colocate"},
        "extra": {"vllm_importance_sampling_mode": "token_mask"},
    },
]
INVALID: list[tuple[dict[str, Any], str]] = [
    ({"loss_type": "gspo"}, "grpo.loss_type: must be one of dapo, grpo, dr_grpo, bnpo, cispo, sapo, luspo, vespo"),
    ({"loss_type": "sapo", "epsilon": 0.3}, "grpo.epsilon: is not read by loss sapo"),
    ({"extra": {"vespo_k_pos": 2.0}}, "grpo.extra.vespo_k_pos: is not read by loss dapo, only by vespo"),
    ({"loss_type": "cispo", "extra": {"delta": 4.0}}, "grpo.extra.delta: is not read by loss cispo"),
    ({"loss_type": "vespo", "extra": {"importance_sampling_level": "token"}}, "is not read by loss vespo"),
    ({"extra": {"importance_sampling_level": "word"}}, "must be token or sequence, not 'word'"),
    ({"loss_type": "sapo", "extra": {"sapo_temperature_pos": 0}}, "must be a number above 0, not 0"),
    ({"loss_type": "sapo", "extra": {"sapo_temperature_pos": None}}, "must be a number above 0, not None"),
    ({"extra": {"epsilon_high": True}}, "must be a number above 0, not True"),
    ({"extra": {"use_bias_correction_kl": True}}, "needs beta above 0"),
    ({"loss_type": "vespo", "vllm": {"mode": "colocate"}}, "must be token_truncate or token_mask for loss vespo"),
]


def decode(grpo: dict[str, Any]) -> RunConfig:
    return RunConfig.from_json({"method": "grpo", "seed": 1, "compute": {"gpus": 1}, "grpo": grpo})


@each_case("grpo", VALID)
def test_losses_accept_their_fields(grpo: dict[str, Any]) -> None:
    assert decode(grpo).grpo


@each_case(("grpo", "message"), INVALID)
def test_losses_refuse_fields_that_they_do_not_read(grpo: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match="grpo") as caught:
        decode(grpo)
    assert message in str(caught.value)


def test_field_of_a_loss_names_existing_losses() -> None:
    assert {loss for losses in READ_BY.values() for loss in losses} <= set(LOSSES)
