"""What the routes of vLLM and SGLang have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from workers.engines.es.adapter_server.lookup import ServerLost, ServerRefused

Ids: TypeAlias = Sequence[Sequence[int]]
"""Token ids of prompts or responses, one list each."""
TOP_TOKENS = 5
UNLOAD_SECONDS = 30.0
GIVEN_UP = ("abort", "error", "tool_calls", "content_filter")
"""Names of ends that messages repeat; a server may send any text in their place."""


@dataclass(frozen=True)
class Sampling:
    """Settings of responses: at most so many tokens, up to one of `ends`; greedy if `temperature` is None."""

    max_new_tokens: int
    ends: tuple[int, ...]
    temperature: float | None = None
    seed: int = 0


class AdapterServer(Protocol):
    """A server that loads adapters and answers with them. Methods raise ServerLost and ServerRefused."""

    def adapters(self) -> list[str]:
        """Return the names of the adapters that the server lists."""

    def load(self, name: str, folder: Path) -> None:
        """Load the adapter in a folder that the server reads."""

    def unload(self, name: str) -> None:
        """Remove an adapter. Raise ServerRefused if there is none of that name."""

    def generate(self, name: str, prompts: Ids, sampling: Sampling) -> list[list[int]]:
        """Return the tokens of an adapter's response to each prompt, through the end token."""

    def likeliest(self, name: str, prompts: Ids) -> list[dict[int, float]]:
        """Return the likeliest next tokens of each prompt with an adapter: token id -> log-probability."""


def check_responses(responses: Sequence[Any], prompts: int, sampling: Sampling) -> list[list[int]]:
    """Return the responses. Raise ServerRefused if they are not as many token lists as there are prompts."""
    if len(responses) != prompts:
        raise ServerRefused(f"sent {len(responses)} responses to {prompts} prompts")
    for tokens in responses:
        if not (isinstance(tokens, list) and tokens and all(type(token) is int and token >= 0 for token in tokens)):
            raise ServerRefused("sent a response without token ids")
        if len(tokens) > sampling.max_new_tokens:
            raise ServerRefused(f"sent a response of {len(tokens)} tokens, more than {sampling.max_new_tokens}")
        if set(tokens[:-1]) & set(sampling.ends):
            raise ServerRefused("sent a response that continues after its end token")
    return list(responses)


def check_likeliest(tokens: Iterable[Mapping[int, float]], prompts: int) -> list[dict[int, float]]:
    """Return the log-probabilities of each prompt. Raise ServerRefused if some are missing."""
    of_prompts = [dict(of_prompt) for of_prompt in tokens]
    if len(of_prompts) != prompts or not all(of_prompts):
        raise ServerRefused(f"sent log-probabilities of {len(of_prompts)} prompts in place of {prompts}")
    return of_prompts


def field(reply: Any, *path: str | int) -> Any:
    """Return the value at a path in a reply. Raise ServerRefused if the reply has no such value."""
    value = reply
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            name = ".".join(map(str, path))
            raise ServerRefused(f"sent a reply without {name}") from None
    return value


def number_field(reply: Any, *path: str | int) -> float:
    """Return the number at a path in a reply. Raise ServerRefused if there is none."""
    value = field(reply, *path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ServerRefused(f"sent a reply whose {'.'.join(map(str, path))} is not a number")
    return value


def refuse_unfinished(reason: Any) -> None:
    """Raise ServerLost for a response that the server gave up. `reason` is the name of its end."""
    if reason not in ("stop", "length"):
        raise ServerLost(f"gave up a response: {reason if reason in GIVEN_UP else 'unknown reason'}")
