"""Errors as problem documents (RFC 9457): what went wrong, in words, and every problem at once with its place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from runs.http.choices import must_be_one_of
from workers.config import ConfigError, Problem

Handler = Callable[[HttpRequest, Any], HttpResponse]


class Invalid(Exception):
    """Input that cannot be used: 422 with all its problems, or with the first of them, and `more` says so."""

    def __init__(self, *problems: Problem, more: str = "") -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems
        self.more = more


def unknown_choice(name: str, choices: Collection[str], value: object) -> Invalid:
    """Return the error that a parameter selects data that there is not; its sentence is that of pages."""
    return Invalid(Problem(name, must_be_one_of(name, choices, str(value))))


def problem(status: int, detail: str, problems: Iterable[Problem] = (), **more: Any) -> HttpResponse:
    """A problem document. `more` are members of its own, such as the seq that was expected."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    body["problems"] = [{"path": p.path, "message": p.message} for p in problems]
    answer = JsonResponse(body, status=status, content_type="application/problem+json")
    if status == HTTPStatus.UNAUTHORIZED:
        answer["WWW-Authenticate"] = 'Bearer realm="esweb"'
    return answer


def not_allowed(bare: HttpResponseNotAllowed) -> HttpResponse:
    """405 in words, naming the methods that there are."""
    answer = problem(405, f"Here you can {bare['Allow']}")
    answer["Allow"] = bare["Allow"]
    return answer


def invalid(_: HttpRequest, error: Any) -> HttpResponse:
    """Answer 422 with the problems of an error that has some."""
    more = getattr(error, "more", "")
    detail = "The request holds what cannot be used; see problems"
    return problem(422, f"{detail}: {more}" if more else detail, error.problems)


def _unreadable(_: HttpRequest, error: ValidationError) -> HttpResponse:
    found = [Problem(".".join(map(str, e["loc"][1:])), str(e["msg"])) for e in error.errors]
    return problem(422, "The request holds what cannot be used; see problems", found)


def refused(_: HttpRequest, error: HttpError) -> HttpResponse:
    """Answer with the status and words of an HttpError; 401 says how to be let in, a body that is no JSON why."""
    words = "Send Authorization: Bearer esw_…, or sign in" if error.status_code == 401 else str(error)
    if isinstance(error.__cause__, ValueError):
        words = f"{words}: {error.__cause__}"
    return problem(error.status_code, words)


def _missing(_: HttpRequest, error: Http404) -> HttpResponse:
    return problem(404, str(error) or "There is nothing at this address")


def _too_big(_: HttpRequest, error: RequestDataTooBig | TooManyFieldsSent | TooManyFilesSent) -> HttpResponse:
    return problem(413, str(error))


HANDLERS: dict[type[Exception], Handler] = {
    ConfigError: invalid,
    Invalid: invalid,
    ValidationError: _unreadable,
    HttpError: refused,
    Http404: _missing,
    RequestDataTooBig: _too_big,
    TooManyFieldsSent: _too_big,
    TooManyFilesSent: _too_big,
}


def handle(error: type[Exception], handler: Handler) -> None:
    """Register how the API answers an error of a feature that this package does not know."""
    HANDLERS[error] = handler


def answer_in_words(api: NinjaAPI) -> None:
    """Makes every error of the API a problem document."""
    for error, handler in HANDLERS.items():
        api.add_exception_handler(error, handler)
