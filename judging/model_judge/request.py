"""Exactly what is sent to a judge, and the key that makes it be asked once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from judging.model_judge.prompt import Pair, messages
from judging.model_judge.rubric import Rubric

ENDPOINT = "chat.completions"
LIMITED_BY = ("max_tokens", "max_completion_tokens")
LEAST_TOKENS = 1024
"""A verdict comes after its reasons: with less room, answers end before it."""
TEMPLATE_TOKENS = 64
"""What chat templates add to a message, generously."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "score_a": {"type": "number"},
        "score_b": {"type": "number"},
        "verdict": {"type": "string", "enum": ["A", "B", "tie"]},
        "both_bad": {"type": "boolean"},
    },
    "required": ["reasoning", "score_a", "score_b", "verdict", "both_bad"],
    "additionalProperties": False,
}

FORMAT: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA},
}


@dataclass(frozen=True)
class Sampling:
    """How a judge's model is sampled.

    temperature: None where the model takes none. structured: ask the server to hold the model to the schema.
    limited_by: what the server calls the limit of the answer's length, one of LIMITED_BY. extra: further fields of the
    request, as the server knows them.
    """

    temperature: float | None = 0.0
    max_tokens: int = 2048
    structured: bool = True
    limited_by: str = LIMITED_BY[0]
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.limited_by not in LIMITED_BY:
            raise ValueError(f"the length must be limited by {' or '.join(LIMITED_BY)}, not {self.limited_by!r}")
        if self.max_tokens < LEAST_TOKENS:
            raise ValueError(f"an answer must be given at least {LEAST_TOKENS} tokens, not {self.max_tokens}")


@dataclass(frozen=True)
class Request:
    """A question to a model. `body` holds the fields that are sent."""

    body: dict[str, Any]

    def key(self, sample: int = 0, judge: str = "") -> str:
        """SHA-256, in hex, of what is sent, to which judge, and which time of asking it is."""
        said = {"endpoint": ENDPOINT, "judge": judge, "body": self.body, "sample": sample}
        return sha256(json.dumps(said, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    @property
    def characters(self) -> int:
        """Of all that the model reads."""
        return sum(len(message["content"]) for message in self._messages)

    @property
    def most_tokens_in(self) -> int:
        """More than it can be: a token stands for at least a byte."""
        return sum(len(message["content"].encode()) + TEMPLATE_TOKENS for message in self._messages) + _schema(
            self.body
        )

    @property
    def most_tokens_out(self) -> int:
        """All that the answer may have."""
        return int(next(self.body[name] for name in LIMITED_BY if name in self.body))

    @property
    def _messages(self) -> Sequence[dict[str, str]]:
        return self.body["messages"]  # type: ignore[no-any-return]


def request(model: str, rubric: Rubric, pair: Pair, sampling: Sampling) -> Request:
    """The question that asks a model which answer of a pair is better."""
    body: dict[str, Any] = dict(sampling.extra)
    body |= {"model": model, "messages": messages(rubric, pair), sampling.limited_by: sampling.max_tokens}
    if sampling.temperature is not None:
        body["temperature"] = sampling.temperature
    if sampling.structured:
        body["response_format"] = FORMAT
    return Request(body)


def kept(body: dict[str, Any]) -> Request:
    """A request as a database gives it back, which keeps no order of keys: servers have the model write them in the
    schema's order, and the reasons come before the verdict."""
    return Request({**body, "response_format": FORMAT} if body.get("response_format") == FORMAT else body)


def _schema(body: dict[str, Any]) -> int:
    """Servers may put the schema into the prompt."""
    return len(json.dumps(body["response_format"])) if "response_format" in body else 0
