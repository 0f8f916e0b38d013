"""Errors as problem documents (RFC 9457): the error in words, and all problems together with their paths."""

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
    """Error for unusable input: 422 with all its problems, or with the first of them, as `more` then states."""

    def __init__(self, *problems: Problem, more: str = "") -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems
        self.more = more


def unknown_choice(name: str, choices: Collection[str], value: object) -> Invalid:
    """Return the error for a parameter that selects data that does not exist; its sentence is the same as on pages."""
    return Invalid(Problem(name, must_be_one_of(name, choices, str(value))))


def problem(status: int, detail: str, problems: Iterable[Problem] = (), **more: Any) -> HttpResponse:
    """Return a problem document. `more` are members of its own, such as the seq that was expected."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    body["problems"] = [{"path": p.path, "message": p.message} for p in problems]
    response = JsonResponse(body, status=status, content_type="application/problem+json")
    if status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = 'Bearer realm="esweb"'
    return response


def not_allowed(original: HttpResponseNotAllowed) -> HttpResponse:
    """Return 405 as a problem document that names the allowed methods."""
    response = problem(405, f"This address accepts {original['Allow']}")
    response["Allow"] = original["Allow"]
    return response


def invalid(_: HttpRequest, error: Any) -> HttpResponse:
    """Return 422 with the problems of an error that has some."""
    more = getattr(error, "more", "")
    detail = "The request contains invalid values; see problems"
    return problem(422, f"{detail}: {more}" if more else detail, error.problems)


def _validation_response(_: HttpRequest, error: ValidationError) -> HttpResponse:
    problems = [Problem(".".join(map(str, e["loc"][1:])), str(e["msg"])) for e in error.errors]
    return problem(422, "The request contains invalid values; see problems", problems)


def refusal_response(_: HttpRequest, error: HttpError) -> HttpResponse:
    """Return the status and text of an HttpError; for 401 with the way to authenticate, for a body that is not JSON
    with the parser's error."""
    words = "Send Authorization: Bearer esw_…, or sign in" if error.status_code == 401 else str(error)
    if isinstance(error.__cause__, ValueError):
        words = f"{words}: {error.__cause__}"
    return problem(error.status_code, words)


def _not_found_response(_: HttpRequest, error: Http404) -> HttpResponse:
    return problem(404, str(error) or "This address does not exist")


def _too_big_response(_: HttpRequest, error: RequestDataTooBig | TooManyFieldsSent | TooManyFilesSent) -> HttpResponse:
    return problem(413, str(error))


HANDLERS: dict[type[Exception], Handler] = {
    ConfigError: invalid,
    Invalid: invalid,
    ValidationError: _validation_response,
    HttpError: refusal_response,
    Http404: _not_found_response,
    RequestDataTooBig: _too_big_response,
    TooManyFieldsSent: _too_big_response,
    TooManyFilesSent: _too_big_response,
}


def register_handler(error: type[Exception], handler: Handler) -> None:
    """Register a handler of an error that this package does not know."""
    HANDLERS[error] = handler


def add_error_handlers(api: NinjaAPI) -> None:
    """Return every error of the API as a problem document."""
    for error, handler in HANDLERS.items():
        api.add_exception_handler(error, handler)
