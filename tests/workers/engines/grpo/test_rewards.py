"""The reward function that TRL calls: rewards in order, groups remembered, failures raised."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from workers.engines.grpo.rewards import Rewards
from workers.records import Member
from workers.tasks import Example, RewardFailed, Score

EXAMPLES = [Example(f"e{i}", ({"role": "user", "content": f"Say {i}"},), str(i)) for i in range(3)]


class Length:
    """Scores an answer by its length; refuses to score the empty one."""

    name = "length"

    def examples(self, split: str) -> Sequence[Example]:
        return EXAMPLES

    def score(self, example: Example, completion: str) -> Score:
        return Score(10 / len(completion) * 0 + len(completion), {"exact": float(completion == example.target)})


def make_completions(*texts: str) -> list[str]:
    return list(texts)


def test_rewards_come_in_the_order_of_the_completions() -> None:
    rewards = Rewards(Length(), EXAMPLES, 2)

    got = rewards(completions=make_completions("a", "bbb", "2", "dd"), completion_ids=[[1]] * 4, example=[0, 0, 2, 2])

    assert got == [1, 3, 1, 2]


def test_groups_have_mean_and_spread_of_members() -> None:
    rewards = Rewards(Length(), EXAMPLES, 2)
    rewards(completions=make_completions("a", "bbb", "2", "dd"), completion_ids=[[1]] * 4, example=[0, 0, 2, 2])

    assert rewards.take_groups()[0] == (
        Member(0, 2.0, {"exact": 0.0, "reward_std": 1.0, "reward_min": 1.0, "reward_max": 3.0}),
        Member(1, 1.5, {"exact": 0.5, "reward_std": 0.5, "reward_min": 1.0, "reward_max": 2.0}),
    )


def test_groups_of_several_calls_are_taken_once_per_step() -> None:
    rewards = Rewards(Length(), EXAMPLES, 2)
    for _ in range(2):
        rewards(completions=make_completions("a", "b"), completion_ids=[[1], [2]], example=[0, 0])

    assert [member.seed for member in rewards.take_groups()[0]] == [0, 1]
    assert rewards.take_groups()[0] == ()


def test_tokens_and_samples_add_up_over_the_run() -> None:
    rewards = Rewards(Length(), EXAMPLES, 2)
    for _ in range(3):
        rewards(completions=make_completions("a", "b"), completion_ids=[[1, 2, 3], [4]], example=[0, 0])

    assert (rewards.tokens, rewards.samples) == (12, 6)


def test_a_failing_reward_ends_the_training_and_names_the_prompt() -> None:
    rewards = Rewards(Length(), EXAMPLES, 2)

    with pytest.raises(RewardFailed, match="e1"):
        rewards(completions=make_completions("a", ""), completion_ids=[[1], [2]], example=[1, 1])


def test_trl_calls_the_reward_by_the_tasks_name() -> None:
    assert Rewards(Length(), EXAMPLES, 2).__name__ == "length"
