"""The parts of the callback for transformers: names of metrics, config without secrets, completions by group."""

from __future__ import annotations

import math
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest
from transformers import TrainingArguments
from trl import DPOConfig, GRPOConfig, SFTConfig

from esweb_client.huggingface import metrics
from esweb_client.huggingface.callback import samples_so_far
from esweb_client.huggingface.completions import (
    ZERO_VARIANCE,
    Completion,
    CompletionReader,
    find_trainer,
    message_text,
    population_members,
    prompt_text,
    response_columns,
)
from esweb_client.huggingface.settings import config_of, method_of, without_secrets
from runs.importing import vocabulary

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
TRL_NAMES = (
    "loss", "grad_norm", "learning_rate", "epoch", "reward", "reward_std", "rewards/brevity/mean", "kl", "entropy",
    "frac_reward_zero_std", "clip_ratio/region_mean", "completions/mean_length", "completions/clipped_ratio",
    "completions/max_terminated_length", "num_tokens", "step_time", "mean_token_accuracy", "rewards/chosen",
)  # fmt: skip


class OwnConfig(GRPOConfig):  # type: ignore[misc]
    """Arguments of a script that extends TRL's."""


def make_reader(*, beta: float = 0.0, weights: tuple[float, ...] = (1.0, 2.0)) -> tuple[CompletionReader, Any]:
    """Return a reader of a trainer's logs, and the trainer, as far as the reader looks at it."""
    logs = {"prompt": deque[Any](), "completion": deque[Any](), "advantages": deque[float](maxlen=4)}
    logs |= {"rewards": {"brevity": deque[float](), "truth": deque[float]()}, "extra": {}}  # type: ignore[dict-item]
    trainer = SimpleNamespace(_logs=logs, reward_weights=weights, num_generations=2, beta=beta)
    return CompletionReader(trainer), trainer


def add_generation(trainer: Any, *rewards: tuple[float, float]) -> None:
    logs = trainer._logs
    for i, (brevity, truth) in enumerate(rewards):
        logs["prompt"].append(f"prompt {i // 2}")
        logs["completion"].append(f"text {i}")
        logs["rewards"]["brevity"].append(brevity)
        logs["rewards"]["truth"].append(truth)
        logs["advantages"].append(float(str(i / 10)))


def row(reward: float, advantage: float = 0.0, **parts: float) -> Completion:
    return Completion("prompt", "text", reward, advantage, parts)


@pytest.mark.parametrize("prefix", ["", "eval_"])
@pytest.mark.parametrize("name", TRL_NAMES)
def test_metrics_have_the_names_of_imported_runs(name: str, prefix: str) -> None:
    assert metrics.esweb_keys(prefix + name) == vocabulary.trl_keys(prefix + name)
    assert metrics.HELD_OUT_KEYS == vocabulary.HELD_OUT_KEYS


def test_texts_and_missing_values_are_no_metrics() -> None:
    logs = {"loss": 0.5, "reward": None, "phase": "warm-up", "is_last": True, "grad_norm": math.inf}
    assert metrics.rename_metrics(logs) == {"train/loss": 0.5, "train/grad_norm": math.inf}


def test_secrets_are_left_out_at_any_depth() -> None:
    settings = {"hub_token": "hf_1", "env": {"WANDB_API_KEY": "k", "db": [{"password": "p"}]}, "secret": b"s"}
    assert without_secrets(settings) == {"env": {"db": [{}]}}


def test_settings_about_tokens_are_no_secrets() -> None:
    settings = {"max_tokens": 16, "eos_token": "</s>", "average_tokens_across_devices": True, "token_level": "token"}
    assert without_secrets(settings) == settings


def test_config_has_the_arguments_with_a_value() -> None:
    args = GRPOConfig(output_dir="out", use_cpu=True, bf16=False, learning_rate=3e-5, hub_token="hf_1", seed=7)
    model = SimpleNamespace(config=SimpleNamespace(_name_or_path="micro", model_type="qwen2"), num_parameters=lambda: 9)
    config = config_of(args, model)
    assert config["learning_rate"] == 3e-5
    assert config["model"] == {"path": "micro", "type": "qwen2", "parameters": 9}
    assert "hub_token" not in config
    assert None not in config.values()


@pytest.mark.parametrize(
    ("kind", "method"),
    [(GRPOConfig, "grpo"), (OwnConfig, "grpo"), (SFTConfig, "sft"), (DPOConfig, "dpo"), (TrainingArguments, None)],
    ids=["grpo", "subclass", "sft", "dpo", "plain"],
)
def test_method_is_the_kind_of_trainer(kind: Any, method: str | None) -> None:
    assert method_of(kind(output_dir="out", use_cpu=True, bf16=False)) == method


def test_reader_takes_each_generation_once() -> None:
    reader, trainer = make_reader()
    add_generation(trainer, (1.0, 0.0), (2.0, 1.0), (1.0, 0.0), (2.0, 1.0))
    assert [row.text for row in reader.take()] == ["text 0", "text 1", "text 2", "text 3"]
    assert reader.take() == []
    add_generation(trainer, (1.0, 0.0), (2.0, 1.0))
    assert [row.text for row in reader.take()] == ["text 0", "text 1"]


def test_reader_skips_generations_before_it_was_made() -> None:
    _, trainer = make_reader()
    add_generation(trainer, (1.0, 0.0), (2.0, 1.0))
    reader = CompletionReader(trainer)
    assert reader.take() == []
    add_generation(trainer, (3.0, 0.0))
    assert [row.reward for row in reader.take()] == [3.0]


def test_reader_takes_a_generation_that_equals_the_last() -> None:
    reader, trainer = make_reader()
    for _ in range(3):
        add_generation(trainer, (1.0, 0.0), (2.0, 1.0), (1.0, 0.0), (2.0, 1.0))
        assert len(reader.take()) == 4


def test_reward_is_the_weighted_sum_of_the_functions_that_gave_one() -> None:
    reader, trainer = make_reader()
    add_generation(trainer, (1.0, 3.0), (math.nan, 3.0), (math.nan, math.nan))
    first, second, third = reader.take()
    assert (first.reward, first.parts) == (7.0, {"brevity": 1.0, "truth": 3.0})
    assert (second.reward, second.parts) == (6.0, {"truth": 3.0})
    assert math.isnan(third.reward)
    assert third.parts == {}


def test_numbers_that_the_script_logs_are_parts() -> None:
    reader, trainer = make_reader()
    add_generation(trainer, (1.0, 3.0), (2.0, 4.0))
    trainer._logs["extra"] = {"cost": deque([0.5, 0.25]), "verdict": deque(["good", "bad"]), "late": deque([1.0])}
    assert [row.parts for row in reader.take()] == [
        {"brevity": 1.0, "truth": 3.0, "cost": 0.5},
        {"brevity": 2.0, "truth": 4.0, "cost": 0.25},
    ]


def test_responses_have_group_advantage_and_number() -> None:
    rows = [row(1.0, -0.7), row(2.0, 0.7), row(0.5), row(0.5)]
    columns = response_columns(rows, 2, first_sample=0, has_policy_term_only=True)
    assert columns["samples"] == [0, 1, 2, 3]
    assert columns["parts"] == [
        {"advantage": -0.7, "group": 0.0},
        {"advantage": 0.7, "group": 0.0},
        {"advantage": 0.0, "group": 1.0, ZERO_VARIANCE: 1.0},
        {"advantage": 0.0, "group": 1.0, ZERO_VARIANCE: 1.0},
    ]


def test_flat_group_is_used_if_the_loss_has_other_terms() -> None:
    reader, _ = make_reader(beta=0.04)
    assert not reader.has_policy_term_only()
    columns = response_columns([row(0.5), row(0.5)], 2, first_sample=0, has_policy_term_only=False)
    assert not [parts for parts in columns["parts"] if ZERO_VARIANCE in parts]


def test_groups_are_members_with_the_means_of_their_completions() -> None:
    rows = [row(1.0, truth=0.0), row(3.0, truth=1.0), row(math.nan), row(math.nan), row(2.0), row(math.nan)]
    first, third = population_members(rows, 2)
    assert (first["seed"], first["reward"]) == (0, 2.0)
    assert first["parts"] == {"truth": 0.5, "reward_std": 1.0, "reward_min": 1.0, "reward_max": 3.0}
    assert (third["seed"], third["reward"]) == (2, 2.0)


def test_conversations_become_text() -> None:
    system, user = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}
    assert prompt_text([user]) == "Hello"
    assert prompt_text([system, user]) == "system: Be brief.\n\nuser: Hello"
    assert message_text([{"role": "assistant", "content": None}, {"role": "tool", "content": "42"}]) == "42"
    assert message_text([{"content": [{"type": "image"}, {"type": "text", "text": "A cat."}]}]) == "A cat."


def test_samples_count_completions_of_shared_generations() -> None:
    args = SimpleNamespace(
        gradient_accumulation_steps=2, steps_per_generation=2, num_iterations=2, generation_batch_size=16
    )
    assert [samples_so_far(args, step) for step in range(5)] == [0, 16, 16, 32, 32]


def test_samples_count_examples_of_all_processes() -> None:
    args = SimpleNamespace(gradient_accumulation_steps=2, train_batch_size=4, world_size=3)
    assert samples_so_far(args, 5) == 120


def test_no_trainer_is_taken_from_callers_without_this_callback() -> None:
    assert find_trainer(object()) is None
