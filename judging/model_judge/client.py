"""Asks a judge's server one question, once. Whoever calls decides whether to ask again.

`openai` takes a second to import: this module is imported where a judge is asked, and nowhere at the top.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import httpx2
import openai

from judging.model_judge.hosts import NotAllowed
from judging.model_judge.parser import storable
from judging.model_judge.replies import Busy, Denied, Rejected, Reply, Server, Unwell
from judging.model_judge.request import Request
from judging.model_judge.transport import http_client

LONGEST_WAIT_SECONDS = 3600.0
SHOWN = 300
NAME_AT_MOST = 200
WORD_AT_MOST = 40
HIDDEN = "•••"
KEY_RULE = "one line of printable ASCII characters"
LEAST_SECRET = 8
"""Characters of a key that is searched for in replies."""
TEXTS = ("text", "finish_reason", "refusal", "model")


class Client:
    """One server's, kept by whoever asks it many questions: connections are used again. Safe to share by threads."""

    def __init__(self, server: Server) -> None:
        """Raises NotAllowed where the server is none that an admin allowed."""
        self._server = server
        self._http = http_client(server.url, server.allowed, server.seconds)
        # Asking again is decided in one place, above: retries in layers multiply.
        self._openai = openai.OpenAI(
            api_key=server.key or "none", base_url=server.url, max_retries=0, timeout=server.seconds,
            http_client=self._http, organization=None, project=None,
        )  # fmt: skip

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def ask(self, request: Request) -> Reply:
        """Return the reply. Raise Denied, Busy, Unwell, Rejected or NotAllowed. Neither the reply nor a message holds
        the key."""
        if not can_be_sent(self._server.key):
            raise Denied(f"the key was not sent: it must be {KEY_RULE}")
        try:
            answer = self._openai.post("/chat/completions", body=request.body, cast_to=object)
        except openai.APIStatusError as error:
            raise self._of_status(error) from None
        except openai.APIError as error:
            raise self._of_connection(error) from None
        except ValueError as error:
            raise Unwell(f"the answer is not JSON: {self._shown(error)}") from None
        return self._without_key(_reply(answer))

    def _without_key(self, reply: Reply) -> Reply:
        """Return the reply without the key: it is stored and shown to others than the key's owner. A short key stays,
        as it may be a word of any reply."""
        key = self._server.key
        if len(key) < LEAST_SECRET:
            return reply
        named = {name: getattr(reply, name).replace(key, HIDDEN) for name in TEXTS}
        return replace(reply, **named)

    def _of_status(self, error: openai.APIStatusError) -> Exception:
        status, words = error.status_code, f"{error.status_code}: {self._shown(error)}"
        if status in (401, 403):
            return Denied(words)
        if status == 429:
            return Busy(words, _retry_after(error.response.headers.get("retry-after")))
        # 409 and 408 pass, as do all that are the server's own fault.
        return Unwell(words, may_cost=False) if status >= 500 or status in (408, 409) else Rejected(words)

    def _of_connection(self, error: openai.APIError) -> Exception:
        cause = error.__cause__ or error
        if isinstance(cause, NotAllowed):
            return cause
        unsent = isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
        return Unwell(self._shown(cause), may_cost=not unsent)

    def _shown(self, error: BaseException) -> str:
        """A server may say back what it was sent."""
        words = " ".join(storable(error).split()) or type(error).__name__
        return (words.replace(self._server.key, HIDDEN) if self._server.key else words)[:SHOWN]


def can_be_sent(key: str) -> bool:
    """Return whether a key can stand in a header. httpx and openai would quote another one in their error."""
    return key.isascii() and key.isprintable()


def _reply(answer: Any) -> Reply:
    try:
        choice = answer["choices"][0]
        message, usage = choice["message"], answer.get("usage") or {}
        return Reply(
            text=storable(message.get("content") or ""),
            finish_reason=storable(choice.get("finish_reason") or "")[:WORD_AT_MOST],
            refusal=storable(message.get("refusal") or "")[:SHOWN],
            model=storable(answer.get("model") or "")[:NAME_AT_MOST],
            tokens_in=_count(usage.get("prompt_tokens")),
            tokens_out=_count(usage.get("completion_tokens")),
        )
    except (TypeError, KeyError, IndexError, AttributeError):
        raise Unwell("the answer is no chat completion") from None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else None


def _retry_after(said: str | None) -> float | None:
    """Seconds, as nearly every server says it; a date is as good as nothing."""
    try:
        seconds = float(said or "")
    except ValueError:
        return None
    return min(seconds, LONGEST_WAIT_SECONDS) if math.isfinite(seconds) and seconds >= 0 else None
