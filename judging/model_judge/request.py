"""Request to a judge, exactly as it is sent, and the key that makes it be sent only once."""

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
MIN_TOKENS = 1024
"""The minimum for an answer: a verdict comes after its reasons, so with fewer tokens the text ends before it."""
TEMPLATE_TOKENS = 64
"""An upper bound of what chat templates add to a message."""
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
    """Sampling of a judge's model.

    temperature: None if the model takes none. structured: ask the server to enforce the schema. limited_by: the
    server's name of the limit of the answer's length, one of LIMITED_BY. extra: further fields of the request, as the
    server knows them.
    """

    temperature: float | None = 0.0
    max_tokens: int = 2048
    structured: bool = True
    limited_by: str = LIMITED_BY[0]
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.limited_by not in LIMITED_BY:
            raise ValueError(f"the length must be limited by {' or '.join(LIMITED_BY)}, not {self.limited_by!r}")
        if self.max_tokens < MIN_TOKENS:
            raise ValueError(f"a reply must be allowed at least {MIN_TOKENS} tokens, not {self.max_tokens}")


@dataclass(frozen=True)
class Request:
    """A question to a model. `body` holds the fields that are sent."""

    body: dict[str, Any]

    def key(self, sample: int = 0, judge: str = "") -> str:
        """Return the SHA-256, in hex, of the request, the judge and the sample number."""
        content = {"endpoint": ENDPOINT, "judge": judge, "body": self.body, "sample": sample}
        return sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    @property
    def characters(self) -> int:
        """Return the number of characters that the model reads."""
        return sum(len(message["content"]) for message in self._messages)

    @property
    def max_tokens_in(self) -> int:
        """Return an upper bound of the tokens that the model reads: a token covers at least one byte."""
        return sum(len(message["content"].encode()) + TEMPLATE_TOKENS for message in self._messages) + _schema_length(
            self.body
        )

    @property
    def max_tokens_out(self) -> int:
        """Return the maximum number of tokens of the answer."""
        return int(next(self.body[name] for name in LIMITED_BY if name in self.body))

    @property
    def _messages(self) -> Sequence[dict[str, str]]:
        return self.body["messages"]  # type: ignore[no-any-return]


def request(model: str, rubric: Rubric, pair: Pair, sampling: Sampling) -> Request:
    """Return the request that asks a model which response of a pair is better."""
    body: dict[str, Any] = dict(sampling.extra)
    body |= {"model": model, "messages": messages(rubric, pair), sampling.limited_by: sampling.max_tokens}
    if sampling.temperature is not None:
        body["temperature"] = sampling.temperature
    if sampling.structured:
        body["response_format"] = FORMAT
    return Request(body)


def restore_request(body: dict[str, Any]) -> Request:
    """Return a request as it was sent, from a stored body.

    The database does not keep the order of keys, but servers make the model write them in the schema's order, and the
    reasons must come before the verdict.
    """
    return Request({**body, "response_format": FORMAT} if body.get("response_format") == FORMAT else body)


def _schema_length(body: dict[str, Any]) -> int:
    """Return the length of the schema, which servers may put into the prompt."""
    return len(json.dumps(body["response_format"])) if "response_format" in body else 0
