"""What can come of asking a judge's server: a reply, or one of four troubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judging.model_judge.hosts import Host


class Denied(Exception):
    """The server takes no key, or not this one: every further question would be denied as well."""


class Unwell(Exception):
    """The server failed, was silent or is not there: the same question may be answered later.

    may_cost: it was sent, and perhaps answered where nobody heard it.
    """

    def __init__(self, words: str, *, may_cost: bool = True) -> None:
        super().__init__(words)
        self.may_cost = may_cost


class Rejected(Exception):
    """The server will not have this question, whenever it is asked."""


class Busy(Exception):
    """Too many questions; `seconds` to wait, None where the server did not say."""

    def __init__(self, words: str, seconds: float | None) -> None:
        super().__init__(words)
        self.seconds = seconds


@dataclass(frozen=True)
class Server:
    """An OpenAI-compatible server. Every answer must end within so many seconds. The key is in no repr."""

    url: str
    key: str
    allowed: Sequence[Host]
    seconds: float = 120.0

    def __repr__(self) -> str:
        return f"Server({self.url!r})"


@dataclass(frozen=True)
class Reply:
    """What a server answered. tokens_in, tokens_out: None where it did not count them. model: as it names itself."""

    text: str
    finish_reason: str
    refusal: str
    model: str
    tokens_in: int | None
    tokens_out: int | None
