"""Read the completions that TRL's trainers sample and reward, and make them into responses and groups.

GRPOTrainer and RLOOTrainer hold the last generation of all processes in `_logs`, whether `log_completions` is set or
not: prompts, completions, rewards by function, advantages. Callbacks are called after every forward and backward pass,
so that no generation is missed, whatever `logging_steps` is.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ZERO_VARIANCE = "discarded/zero_variance"
"""The rewards of its group are all equal, so its advantage is 0, and the loss has no other term."""
NO_ADVANTAGE = 0.01
"""Advantages below this are 0 but for rounding: the rounded mean of equal rewards is divided by 1e-4."""


@dataclass
class Completion:
    """One completion. `reward` is the weighted sum that advantages are computed from, `parts` are its addends."""

    prompt: str
    text: str
    reward: float
    advantage: float
    parts: dict[str, float] = field(default_factory=dict)


class CompletionReader:
    """Read the completions of a trainer that were generated since the last call, or since the reader was made."""

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        former = trainer._logs["advantages"]
        self._last: object | None = former[-1] if former else None
        weights = getattr(trainer, "reward_weights", None)
        self._weights: list[float] | None = None if weights is None else [float(weight) for weight in weights]

    def take(self) -> list[Completion]:
        """Return the new completions of all processes, in the order of their groups."""
        logs = getattr(self._trainer, "_logs", None)
        if not logs or not logs.get("advantages"):
            return []
        advantages = logs["advantages"]
        # Every generation brings new number objects, and the last one is held here, so that identity tells them apart.
        count = sum(1 for _ in itertools.takewhile(lambda value: value is not self._last, reversed(advantages)))
        self._last = advantages[-1]
        rewards = _last_columns(logs["rewards"], count)
        extra = _last_columns(logs.get("extra", {}), count)
        weights = self._weights if self._weights is not None else [1.0] * len(rewards)
        return [
            Completion(
                prompt=prompt_text(prompt),
                text=message_text(completion),
                reward=_weighted_sum([values[i] for values in rewards.values()], weights),
                advantage=float(advantage),
                parts=_parts({**rewards, **extra}, i),
            )
            for i, (prompt, completion, advantage) in enumerate(
                zip(_last(logs["prompt"], count), _last(logs["completion"], count), _last(advantages, count))
            )
        ]

    def group_size(self, *, training: bool) -> int:
        """Return the number of completions of one prompt that are compared with each other."""
        size = getattr(self._trainer, "num_generations", 1)
        return int(size if training else getattr(self._trainer, "num_generations_eval", size))

    def has_policy_term_only(self) -> bool:
        """Return whether the loss has no KL term and no other bonus, so that an advantage of 0 moves nothing."""
        trainer = self._trainer
        others = ("_entropy_bonus_enabled", "aux_loss_enabled")
        return getattr(trainer, "beta", None) == 0 and not any(getattr(trainer, name, False) for name in others)


def response_columns(
    completions: Sequence[Completion], group_size: int, *, first_sample: int, has_policy_term_only: bool
) -> dict[str, list[Any]]:
    """Return the columns of `run.log_responses` for the groups of one step, in order.

    The responses of a prompt are numbered from `first_sample`.
    """
    counts: Counter[str] = Counter()
    samples: list[int] = []
    parts: list[dict[str, float]] = []
    for number, members in enumerate(groups_of(completions, group_size)):
        is_flat = has_policy_term_only and _is_flat(members)
        reasons = {ZERO_VARIANCE: 1.0} if is_flat else {}
        parts += [{**row.parts, "advantage": row.advantage, "group": float(number), **reasons} for row in members]
    for row in completions:
        samples.append(first_sample + counts[row.prompt])
        counts[row.prompt] += 1
    return {
        "responses": [row.text for row in completions],
        "prompts": [row.prompt for row in completions],
        "rewards": [row.reward for row in completions],
        "samples": samples,
        "parts": parts,
    }


def population_members(completions: Sequence[Completion], group_size: int) -> list[dict[str, Any]]:
    """Return the groups of one step as members of a population, numbered from 0, with the means of their members.

    Completions without a reward count in no mean; a group of such completions is left out.
    """
    members = []
    for number, rows in enumerate(groups_of(completions, group_size)):
        rewards = [row.reward for row in rows if not math.isnan(row.reward)]
        if not rewards:
            continue
        mean = math.fsum(rewards) / len(rewards)
        names = dict.fromkeys(name for row in rows for name in row.parts)
        parts = {name: _mean([row.parts[name] for row in rows if name in row.parts]) for name in names}
        std = math.sqrt(math.fsum((reward - mean) ** 2 for reward in rewards) / len(rewards))
        spread = {"reward_std": std, "reward_min": min(rewards), "reward_max": max(rewards)}
        members.append({"seed": number, "reward": mean, "parts": {**parts, **spread}})
    return members


def groups_of(completions: Sequence[Completion], size: int) -> list[Sequence[Completion]]:
    """Return the completions in groups of `size`: the completions of a group are adjacent."""
    return [completions[start : start + size] for start in range(0, len(completions), max(size, 1))]


def count_tokens(tokenizer: Any, texts: Sequence[str], max_tokens: int | None) -> list[int] | None:
    """Return the number of tokens of each text with its end, at most `max_tokens`; None without a tokenizer.

    The trainer logs texts alone, so that they are split into tokens again, which may differ from what was sampled.
    """
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    if not callable(tokenizer) or not texts:
        return None
    lengths = [len(ids) + 1 for ids in tokenizer(list(texts), add_special_tokens=False)["input_ids"]]
    return [min(length, max_tokens) for length in lengths] if max_tokens else lengths


def prompt_text(prompt: Any) -> str:
    """Return a prompt as text: of a conversation the only message, or all of them with their roles."""
    if isinstance(prompt, (list, tuple)) and len(prompt) > 1:
        return "\n\n".join(f"{turn.get('role', '')}: {message_text(turn)}" for turn in prompt)
    return message_text(prompt)


def message_text(value: Any) -> str:
    """Return the text of a completion: of messages the content of each, images and tool calls left out."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Mapping):
        return message_text(value.get("content", value.get("text")))
    if isinstance(value, Sequence):
        return "\n\n".join(text for text in map(message_text, value) if text)
    return str(value)


def find_trainer(callback: object) -> Any | None:
    """Return the trainer that calls this callback, from the frames of the calls. The events do not hand it over."""
    frame = sys._getframe(1)
    while frame is not None:
        candidate = frame.f_locals.get("self")
        handler = getattr(candidate, "__dict__", {}).get("callback_handler")
        if any(member is callback for member in getattr(handler, "callbacks", ())):
            return candidate
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _is_flat(members: Sequence[Completion]) -> bool:
    is_equal = len({row.reward for row in members}) == 1
    return is_equal and all(abs(row.advantage) < NO_ADVANTAGE for row in members)


def _weighted_sum(rewards: Sequence[float | None], weights: Sequence[float]) -> float:
    """Return the sum over the functions that gave a reward, NaN if none did."""
    products = [
        reward * weight for reward, weight in zip(rewards, weights) if reward is not None and not math.isnan(reward)
    ]
    return math.fsum(products) if products else math.nan


def _parts(columns: Mapping[str, Sequence[Any]], i: int) -> dict[str, float]:
    """Return the numbers of row i."""
    values = {name: column[i] for name, column in columns.items()}
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)
    }


def _last_columns(columns: Mapping[str, Any], count: int) -> dict[str, list[Any]]:
    """Return the last `count` values of each column that has so many."""
    return {name: _last(values, count) for name, values in columns.items() if len(values) >= count}


def _last(values: Any, count: int) -> list[Any]:
    return list(itertools.islice(values, max(len(values) - count, 0), None))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
