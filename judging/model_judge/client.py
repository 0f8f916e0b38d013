"""Ask a judge's server one question, once. The caller decides about retries.

`openai` takes a second to import: this module is imported only where a judge is asked, never at the top of a module.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import httpx2
import openai

from judging.model_judge.hosts import HostNotAllowed
from judging.model_judge.parser import storable
from judging.model_judge.replies import AccessDenied, Reply, RequestRejected, Server, ServerBusy, ServerUnavailable
from judging.model_judge.request import Request
from judging.model_judge.transport import http_client
from workers.outgoing.replies import describe_status

MAX_WAIT_SECONDS = 3600.0
MAX_ERROR_LENGTH = 300
MAX_NAME_LENGTH = 200
MAX_WORD_LENGTH = 40
HIDDEN = "•••"
DISCONNECTED = "Server disconnected without sending a response."
"""The text of httpx2 for a server that closes the connection."""
KEY_RULE = "one line of printable ASCII characters"
MIN_SECRET_LENGTH = 8
"""The minimum length of a key that is searched for in replies."""
TEXT_PARTS = ("text", "output_text")
"""Types of the parts of a message that hold its text. Drafts have the type thinking or reasoning."""
TEXTS = ("text", "finish_reason", "refusal", "model")


class Client:
    """Client of one server, reused for many questions so that connections are reused. Safe to share between threads."""

    def __init__(self, server: Server) -> None:
        """Create the client. Raise HostNotAllowed if no admin allowed the server's host."""
        self._server = server
        self._http = http_client(server.url, server.allowed, server.seconds)
        # Retries are decided in one place, in `judge_runs.completion`: retries in layers multiply.
        self._openai = openai.OpenAI(
            api_key=server.key or "none", base_url=server.url, max_retries=0, timeout=server.seconds,
            http_client=self._http, organization=None, project=None,
        )  # fmt: skip

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def ask(self, request: Request) -> Reply:
        """Return the reply. Raise AccessDenied, ServerBusy, ServerUnavailable, RequestRejected or HostNotAllowed.
        Neither the reply nor a message contains the key, and no message contains what the server sent."""
        if not can_be_sent(self._server.key):
            raise AccessDenied(f"the key was not sent: it must be {KEY_RULE}")
        try:
            response = self._openai.post("/chat/completions", body=request.body, cast_to=object)
        except openai.APIStatusError as error:
            raise self._status_error(error) from None
        except openai.APIError as error:
            raise self._connection_error(error) from None
        except ValueError:
            raise ServerUnavailable("the reply is not JSON") from None
        return self._without_key(_reply(response))

    def _without_key(self, reply: Reply) -> Reply:
        """Return the reply without the key, because it is stored and shown to users other than the key's owner. A short
        key stays, as it may be a word of any reply."""
        key = self._server.key
        if len(key) < MIN_SECRET_LENGTH:
            return reply
        named = {name: getattr(reply, name).replace(key, HIDDEN) for name in TEXTS}
        return replace(reply, **named)

    def _status_error(self, error: openai.APIStatusError) -> Exception:
        status, words = error.status_code, describe_status(error.status_code)
        if status in (401, 403):
            return AccessDenied(words)
        if status == 429:
            return ServerBusy(words, _retry_after(error.response.headers.get("retry-after")))
        # 408 and 409 are temporary, as are all errors of the server itself.
        return (
            ServerUnavailable(words, may_cost=False)
            if status >= 500 or status in (408, 409)
            else RequestRejected(words)
        )

    def _connection_error(self, error: openai.APIError) -> Exception:
        cause = error.__cause__ or error
        if isinstance(cause, HostNotAllowed):
            return cause
        unsent = isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
        return ServerUnavailable(_failure_text(cause), may_cost=not unsent)


def can_be_sent(key: str) -> bool:
    """Return whether a key can be sent in a header. httpx and openai would quote another key in their error."""
    return key.isascii() and key.isprintable()


def _failure_text(error: BaseException) -> str:
    """Return a text about a request that failed. The texts of httpx2 about an invalid reply quote it."""
    if isinstance(error, httpx2.RemoteProtocolError):
        return str(error) if str(error) == DISCONNECTED else "the reply is not HTTP"
    is_of_connection = isinstance(error, httpx2.NetworkError | httpx2.TimeoutException)
    return (storable(error) if is_of_connection else "")[:MAX_ERROR_LENGTH] or type(error).__name__


def _reply(response: Any) -> Reply:
    try:
        choice = response["choices"][0]
        message, usage = choice["message"], response.get("usage") or {}
        return Reply(
            text=storable(_content_text(message.get("content"))),
            finish_reason=storable(choice.get("finish_reason") or "")[:MAX_WORD_LENGTH],
            refusal=storable(message.get("refusal") or "")[:MAX_ERROR_LENGTH],
            model=storable(response.get("model") or "")[:MAX_NAME_LENGTH],
            tokens_in=_count(usage.get("prompt_tokens")),
            tokens_out=_count(usage.get("completion_tokens")),
        )
    except (TypeError, KeyError, IndexError, AttributeError):
        raise ServerUnavailable("the reply is not a chat completion") from None


def _content_text(content: Any) -> str:
    """Return the text of a message. A list of parts is joined; parts that are no text, such as a draft, are left out.
    Raise TypeError or KeyError for other content."""
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if part["type"] in TEXT_PARTS)
    if not isinstance(content, str | None):
        raise TypeError(type(content).__name__)
    return content or ""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else None


def _retry_after(header: str | None) -> float | None:
    """Parse the header as seconds, which nearly every server sends; return None for a date."""
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return min(seconds, MAX_WAIT_SECONDS) if math.isfinite(seconds) and seconds >= 0 else None
