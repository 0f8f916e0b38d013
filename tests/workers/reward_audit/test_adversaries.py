"""Attacks with a model on a CPU: best of k, and the members of a population; the weights are the model's own again."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.workers.reward_audit.audits import audit_in
from workers.config import ConfigError, RunConfig
from workers.models import Loaded
from workers.reward_audit.adversaries import Adversary, member_seeds
from workers.reward_audit.audit_run import AuditSession
from workers.reward_audit.prompts import select_examples
from workers.reward_audit.rewards import Rewards
from workers.tasks import make


def test_best_of_k_gains_reward_and_no_right_answers(micro: Loaded, tmp_path: Path) -> None:
    attacks = audit_in(tmp_path, "conciseness", prompts=6, samples=4, members=2, sigma=0.05, max_new_tokens=12)
    model, best, member = (attacks[name] for name in ("model", "best-of-k", "es-member"))
    assert model.verdict == "control" and (best.needs, member.variants) == ("model", 2)
    assert (best.reward or 0) > (model.reward or 0)
    assert best.right <= model.right + 1 and best.known == 6
    assert best.examples and all(example.right_reward == 0 for example in best.examples)


def test_members_leave_the_weights_to_the_bit(micro: Loaded) -> None:
    data = {
        "method": "audit",
        "model": {"path": "micro", "device": "cpu"},
        "audit": {"members": 2, "max_new_tokens": 4},
    }
    config = RunConfig.from_json(data)
    assert config.audit is not None and config.needs_torch and config.reads_model
    task = make(config.task)
    adversary = Adversary(
        config, config.audit, AuditSession(Rewards(task, 600), select_examples(task, 2, 0)), lambda message, share: None
    )
    weights = [parameter.detach().clone() for _, parameter in adversary._parameters()]
    trials, _ = adversary.best_member(2, 0.1, 0, lambda message, share: None)
    assert len(trials) == 2
    assert all(torch.equal(a, b) for a, (_, b) in zip(weights, adversary._parameters(), strict=True))


def test_member_seeds_are_positive_and_follow_from_the_seed() -> None:
    seeds = member_seeds(3, 8)
    assert seeds == member_seeds(3, 8) and len(set(seeds)) == 8 and min(seeds) > 0
    assert set(seeds).isdisjoint(member_seeds(4, 8))


def test_audit_without_a_model_needs_neither_model_nor_torch() -> None:
    config = RunConfig.from_json({"method": "audit"})
    assert not config.needs_torch and not config.reads_model
    with pytest.raises(ConfigError, match="must be 0 or at least 2"):
        RunConfig.from_json({"method": "audit", "audit": {"members": 1}})
