"""The losses of the installed TRL read the settings that workers/config/grpo_losses.py lists, and no other."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
import trl
from datasets import Dataset
from torch import Tensor

from tests.cases import each_case
from tests.workers.engines.grpo.test_resume import run, stream
from workers.config import RunConfig
from workers.config.grpo_losses import LOSSES, READ_BY
from workers.engines.grpo.arguments import arguments
from workers.models import Loaded

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
VALUES: dict[str, tuple[Any, Any]] = {
    "delta": (None, 1.3), "epsilon_high": (0.2, 0.6), "importance_sampling_level": ("token", "sequence"),
    "sapo_temperature_neg": (1.05, 2.0), "sapo_temperature_pos": (1.0, 2.0),
    "vespo_k_pos": (2.0, 1.0), "vespo_lambda_pos": (3.0, 1.0),
    "vespo_k_neg": (3.0, 1.0), "vespo_lambda_neg": (2.0, 1.0),
}  # fmt: skip
"""Field -> its default and another value."""
OF_TRAINER = {"epsilon_high", "importance_sampling_level"}
"""Fields that TRL copies from its arguments into the trainer."""
TRAINED: list[dict[str, Any]] = [
    {"loss_type": "cispo", "extra": {"epsilon_high": 5.0}},
    {"loss_type": "sapo"},
    {"loss_type": "luspo", "extra": {"importance_sampling_level": "sequence"}},
    {"loss_type": "vespo"},
    {"loss_type": "grpo", "extra": {"importance_sampling_level": "sequence"}},
]


@pytest.fixture(scope="module")
def trainer(micro: Loaded, tmp_path_factory: pytest.TempPathFactory) -> trl.GRPOTrainer:
    """Return TRL's own trainer, as it is before its first step."""
    config = RunConfig.from_json({"method": "grpo", "seed": 1, "grpo": {"max_completion_length": 6}})
    made: trl.GRPOTrainer = trl.GRPOTrainer(
        model=copy.deepcopy(micro.model).float(),
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=arguments(config, micro, tmp_path_factory.mktemp("trainer")),
        train_dataset=Dataset.from_list([{"prompt": "a"}] * 8),
        processing_class=micro.tokenizer,
    )
    made.current_gradient_accumulation_steps = 1
    return made


def loss(trainer: trl.GRPOTrainer, name: str, **settings: Any) -> float:
    """Return TRL's loss of eight random completions of an older policy, some of them much more and less likely."""
    for field, (default, _) in VALUES.items():
        setattr(trainer if field in OF_TRAINER else trainer.args, field, settings.get(field, default))
    trainer.loss_type = name
    random = torch.Generator().manual_seed(3)
    ids = torch.randint(5, 100, (8, 10), generator=random)
    inputs: dict[str, Tensor] = {
        "prompt_ids": ids[:, :4], "prompt_mask": torch.ones(8, 4, dtype=torch.long),
        "completion_ids": ids[:, 4:], "completion_mask": torch.ones(8, 6, dtype=torch.long),
        "advantages": torch.tensor([1.0, -1.0] * 4), "num_items_in_batch": torch.tensor(48),
    }  # fmt: skip
    with torch.no_grad():
        logs, *_ = trainer._get_per_token_logps_and_entropies(trainer.model, ids, torch.ones_like(ids), 6)
        inputs["old_per_token_logps"] = logs + torch.randn(8, 6, generator=random)
        value: float = trainer._compute_loss(trainer.model, inputs).item()
    return value


@pytest.mark.parametrize("name", LOSSES)
def test_loss_reads_exactly_the_listed_fields(trainer: trl.GRPOTrainer, name: str) -> None:
    assert VALUES.keys() == READ_BY.keys()
    before = loss(trainer, name)
    read = {field for field, (_, other) in VALUES.items() if loss(trainer, name, **{field: other}) != before}
    assert read == {field for field, losses in READ_BY.items() if name in losses}


@each_case("options", TRAINED)
def test_every_loss_trains(options: dict[str, Any], micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, max_steps=2, **options)
    assert len(stream(tmp_path, 0)) == 2
