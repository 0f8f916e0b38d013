"""Results of a request to a judge's server: a reply, or one of four errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judging.model_judge.hosts import Host


class AccessDenied(Exception):
    """Error if the server requires a key or rejects this one: every further request would be denied as well."""


class ServerUnavailable(Exception):
    """Error if the server failed, did not reply or is unreachable: the same question may be answered later.

    may_cost: the request was sent, and a reply may have been lost.
    """

    def __init__(self, words: str, *, may_cost: bool = True) -> None:
        super().__init__(words)
        self.may_cost = may_cost


class RequestRejected(Exception):
    """Error if the server rejects this request, now and later."""


class ServerBusy(Exception):
    """Error for too many requests; `seconds` to wait, None if the server did not state it."""

    def __init__(self, words: str, seconds: float | None) -> None:
        super().__init__(words)
        self.seconds = seconds


@dataclass(frozen=True)
class Server:
    """An OpenAI-compatible server. Every reply must end within `seconds`. The key is in no repr."""

    url: str
    key: str
    allowed: Sequence[Host]
    seconds: float = 120.0

    def __repr__(self) -> str:
        return f"Server({self.url!r})"


@dataclass(frozen=True)
class Reply:
    """Reply of a server. tokens_in, tokens_out: None if it did not count them. model: the name that the server
    reports."""

    text: str
    finish_reason: str
    refusal: str
    model: str
    tokens_in: int | None
    tokens_out: int | None
