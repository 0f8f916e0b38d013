"""Records of the training's completions: all of them, with their advantages, and why some move nothing."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset

from tests.workers.engines.es.runs import records_of
from tests.workers.engines.grpo.test_resume import SMALL, run
from workers import tasks
from workers.config import RunConfig
from workers.engines.grpo.arguments import arguments, section
from workers.engines.grpo.completions import NUMBER, CompletionRecorder
from workers.engines.grpo.trainer import Trainer
from workers.models import Loaded, PromptFormat
from workers.records import Response
from workers.tasks import Score

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
GROUP = 4


class ByLength:
    """A reward function that remembers its scores and the tokens of the completions."""

    __name__ = "length"

    def __init__(self, *, equal: bool = False) -> None:
        self.scores: Sequence[Score] = ()
        self.tokens: list[list[int]] = []
        self._is_equal = equal

    def __call__(self, completions: Sequence[str], completion_ids: Sequence[list[int]], **_: Any) -> list[float]:
        rewards = [0.1 if self._is_equal else len(set(text)) / 10 for text in completions]
        self.scores = [Score(reward, {"letters": reward * 10}) for reward in rewards]
        self.tokens += completion_ids
        return rewards


@dataclass
class Training:
    """The records of a training, and what is needed to compute them again."""

    responses: list[Response]
    rewards: ByLength
    model: Any
    prompts: PromptFormat
    examples: Sequence[tasks.Example]
    logged: list[dict[str, Any]] = field(default_factory=list)

    def step(self, step: int) -> list[Response]:
        return [response for response in self.responses if response.step == step]


def train(micro: Loaded, directory: Path, every: int = 1, rewards: ByLength | None = None, **options: Any) -> Training:
    """Train the micro model, by default two steps of two groups of four."""
    config = RunConfig.from_json(
        {"method": "grpo", "seed": 3, "grpo": SMALL | {"max_steps": 2, "completions_every": every} | options}
    )
    loaded = Loaded(**{**vars(micro), "model": copy.deepcopy(micro.model).float().requires_grad_(True)})
    args = arguments(config, loaded, directory)
    prompts = PromptFormat.from_config(config, loaded.tokenizer)
    examples = tasks.make(config.task).examples("train")
    rewards, responses = rewards or ByLength(), list[Response]()
    recorder = CompletionRecorder(
        rewards,
        examples,
        prompts,
        every=section(config).completions_every,
        group_size=args.num_generations,
        write=responses.append,
    )
    rows = [{"prompt": prompts.text(example.messages), "example": i} for i, example in enumerate(examples[:8])]
    torch.manual_seed(3)
    trainer = Trainer(
        prompts, recorder, model=loaded.model, reward_funcs=rewards, args=args,
        train_dataset=Dataset.from_list(rows), processing_class=loaded.tokenizer,
    )  # fmt: skip
    trainer.train()
    return Training(responses, rewards, micro.model, prompts, examples, trainer.state.log_history)


@pytest.fixture(scope="module")
def training(micro: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Training:
    return train(micro, tmp_path_factory.mktemp("training"))


def groups(responses: Sequence[Response]) -> list[list[Response]]:
    by_group: dict[float, list[Response]] = defaultdict(list)
    for response in responses:
        by_group[response.parts["group"]].append(response)
    return list(by_group.values())


def mean_log_prob(rows: Sequence[Response]) -> float:
    """Return the mean over the tokens of all these completions."""
    return sum(r.parts["log_prob"] * r.tokens for r in rows) / sum(r.tokens for r in rows)


@contextmanager
def no_gradients(model: Any) -> Iterator[Any]:
    with torch.no_grad():
        yield model.eval()


def test_every_group_of_each_step_is_recorded_whole(training: Training) -> None:
    for step in (1, 2):
        assert [len(members) for members in groups(training.step(step))] == [GROUP, GROUP]
        for members in groups(training.step(step)):
            assert len({member.prompt_id for member in members}) == 1
            assert [member.sample for member in members] == [0, 1, 2, 3]
    assert {(r.split, r.kl) for r in training.responses} == {("train", None)}


def test_response_has_text_prompt_and_score(training: Training) -> None:
    examples = {example.id: example for example in training.examples}
    for response, tokens in zip(training.responses, training.rewards.tokens, strict=True):
        assert response.tokens == len(tokens)
        assert response.prompt == training.prompts.display_text(examples[response.prompt_id].messages)
        assert response.reward == len(set(response.text)) / 10
        assert response.parts["letters"] == response.reward * 10
        assert response.parts.get("clipped", 0.0) == float(len(tokens) == 8)


def test_advantages_follow_from_recorded_rewards(training: Training) -> None:
    for step in (1, 2):
        for members in groups(training.step(step)):
            rewards = np.array([member.reward for member in members])
            expected = (rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-4)
            assert [m.parts["advantage"] for m in members] == pytest.approx(expected, abs=1e-4)


def test_log_probs_match_the_model_that_sampled(training: Training) -> None:
    examples = {example.id: example for example in training.examples}
    first = training.step(1)
    with no_gradients(training.model) as model:
        for response, tokens in zip(first, training.rewards.tokens, strict=False):
            prompt = training.prompts.ids(examples[response.prompt_id].messages)
            ids = torch.tensor([[*prompt, *tokens]])
            log_probs = model(input_ids=ids).logits[0, len(prompt) - 1 : -1].float().log_softmax(-1)
            mean = log_probs.gather(1, torch.tensor(tokens)[:, None]).mean().item()
            assert response.parts["log_prob"] == pytest.approx(mean, abs=1e-4)


def test_log_probs_add_up_to_sampled_entropy(training: Training) -> None:
    for step in (1, 2):
        rows = training.step(step)
        mean = mean_log_prob(rows)
        logged = [row for row in training.logged if row["step"] == step and "entropy/sampled" in row]
        assert logged[0]["entropy/sampled"] == pytest.approx(-mean, abs=1e-6)


def test_completions_of_equal_rewards_are_discarded_for_it(micro: Loaded, tmp_path: Path) -> None:
    responses = train(micro, tmp_path, rewards=ByLength(equal=True)).responses
    assert len(responses) == 16
    assert {response.parts["discarded/zero_variance"] for response in responses} == {1.0}


def test_kl_term_still_moves_completions_of_equal_rewards(micro: Loaded, tmp_path: Path) -> None:
    responses = train(micro, tmp_path, rewards=ByLength(equal=True), beta=0.02).responses
    assert not [r for r in responses if "discarded/zero_variance" in r.parts]


def test_truncated_completions_are_discarded_if_masked(micro: Loaded, tmp_path: Path) -> None:
    training = train(micro, tmp_path, extra={"mask_truncated_completions": True}, max_completion_length=4)
    is_truncated = [len(t) == 4 and t[-1] != micro.tokenizer.eos_token_id for t in training.rewards.tokens]
    assert any(is_truncated)
    assert [r.parts.get("discarded/truncated", 0.0) for r in training.responses] == [float(t) for t in is_truncated]
    assert ["log_prob" in r.parts for r in training.responses] == [not t for t in is_truncated]


def test_only_the_chosen_steps_are_recorded(micro: Loaded, tmp_path: Path) -> None:
    assert {r.step for r in train(micro, tmp_path, every=2, max_steps=4).responses} == {2, 4}
    assert train(micro, tmp_path, every=0).responses == []


def test_shared_completions_are_recorded_at_the_step_that_generates_them(micro: Loaded, tmp_path: Path) -> None:
    responses = train(micro, tmp_path, max_steps=4, num_iterations=2).responses
    assert {r.step for r in responses} == {1, 3}
    assert len(responses) == 16
    assert all("log_prob" in r.parts for r in responses)


def test_several_generations_of_a_step_are_one_sequence_of_groups(micro: Loaded, tmp_path: Path) -> None:
    options = {"gradient_accumulation_steps": 2, "extra": {"steps_per_generation": 1}}
    rows = train(micro, tmp_path, max_steps=1, **options).responses
    assert [r.parts["group"] for r in rows] == [float(i // GROUP) for i in range(16)]
    assert len({(r.prompt_id, r.sample) for r in rows}) == 16


@pytest.mark.soak
def test_first_process_records_the_completions_of_all(tmp_path: Path) -> None:
    script = [sys.executable, "-m", "tests.workers.engines.grpo.completions_process", str(tmp_path)]
    environments = [
        os.environ | {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
        | {"OMP_NUM_THREADS": "1"}
        for rank in (0, 1)
    ]  # fmt: skip
    processes = [subprocess.Popen(script, env=environment) for environment in environments]
    assert [process.wait(timeout=200) for process in processes] == [0, 0]
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    assert second["responses"] == []
    for step in (1, 2):
        rows = [Response(**row) for row in first["responses"] if row["step"] == step]
        assert [r.parts["group"] for r in rows] == [float(i // GROUP) for i in range(24)]
        assert len({(r.prompt_id, r.sample) for r in rows}) == 24
        for members in groups(rows):
            assert len({member.prompt_id for member in members}) == 1
            rewards = np.array([member.reward for member in members])
            expected = (rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-4)
            assert [m.parts["advantage"] for m in members] == pytest.approx(expected, abs=1e-4)
        mean = np.mean([mean_log_prob(rows[:12]), mean_log_prob(rows[12:])])
        (logged,) = [row for row in first["logged"] if row["step"] == step and "entropy/sampled" in row]
        assert logged["entropy/sampled"] == pytest.approx(-mean, abs=1e-6)


def test_run_writes_completions_of_the_due_steps_to_its_records(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path, max_steps=3, completions_every=2)
    rows = [r for r in records_of(tmp_path, Response) if r.split == "train"]
    assert [(r.step, r.parts["group"]) for r in rows] == [(2, float(i // GROUP)) for i in range(8)]


def test_resume_records_no_completions_of_an_earlier_generation(micro: Loaded, tmp_path: Path) -> None:
    """The checkpoint of step 3 holds completions that step 3 drew, for step 4 to use again."""
    run(micro, tmp_path / "straight", save_steps=1, num_iterations=2, completions_every=1)
    (tmp_path / "cut/checkpoints").mkdir(parents=True)
    saved = tmp_path / "straight/checkpoints/step-000003"
    (tmp_path / "cut/checkpoints" / saved.name).symlink_to(saved)
    run(micro, tmp_path / "cut", num_iterations=2, completions_every=1)
    straight, cut = (
        [r for r in records_of(tmp_path / name, Response) if r.split == "train"] for name in ("straight", "cut")
    )
    assert {r.step for r in straight} == {1, 3, 5}
    assert cut == [r for r in straight if r.step == 5]


def test_masked_ratios_and_off_policy_completions_are_discarded(training: Training) -> None:
    """vLLM's correction and the off-policy mask as tensors of a batch, since neither needs an engine."""
    written: list[Response] = []
    source = ByLength()
    fitness = source(["a", "ab", "abc", "a"], [[1, 2]] * 4)
    recorder = CompletionRecorder(
        source, training.examples, training.prompts, every=1, group_size=4, write=written.append
    )
    log_probs = torch.tensor([[-1.0, -2.0]] * 4)
    batch = {
        "completion_ids": torch.ones(4, 2, dtype=torch.long),
        "completion_mask": torch.tensor([[1, 1], [1, 1], [1, 0], [1, 1]]),
        "advantages": torch.tensor([0.0, 1.0, 2.0, -3.0]),
        "importance_sampling_ratio": torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        "old_per_token_logps": log_probs,
    }
    numbers = recorder.add_generation(7, batch, [0] * 4, ["a", "ab", "abc", "a"], [2] * 4, [False] * 4, fitness)
    shuffled = torch.tensor([3, 0, 2, 1])
    inputs = {"completion_mask": batch["completion_mask"][shuffled], NUMBER: numbers[shuffled]}
    recorder.observe(inputs, log_probs[shuffled] - 1, torch.tensor([[0.0], [1.0], [1.0], [1.0]]))
    recorder.write_step(7, is_main=True, has_policy_term_only=True)

    reasons = [[name for name in r.parts if name.startswith("discarded/")] for r in written]
    assert reasons == [[], ["discarded/importance_ratio"], ["discarded/importance_ratio"], ["discarded/off_policy"]]
    assert [r.parts["log_prob"] for r in written] == [-1.5, -1.5, -1.0, -1.5]
    assert [r.parts["advantage"] for r in written] == [0, 1, 2, -3]
