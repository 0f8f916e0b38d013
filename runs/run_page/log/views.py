"""A run's log: its end, followed as it grows, or any page of it, with search; and the whole file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe
from django_htmx.http import replace_url

from runs.http import SignedIn, UnknownChoice, must_be_one_of, run_address, visible_run
from runs.models import Attempt, Run
from runs.run_page.log.files import LogPage, find, page_from, page_until
from runs.run_page.log.line_index import line_start

PARAMETERS = ("log_attempt", "log_find", "log_from", "log_until", "log_after", "log_before", "log_line")
WORDS_AT_MOST = 200
PLACE_DIGITS = 15


@dataclass(frozen=True)
class LogQuery:
    """Which part of which attempt's log: from a line or a byte, until one, or the next lines that hold `words`."""

    attempt: Attempt | None
    words: str
    places: dict[str, int]

    @property
    def is_following(self) -> bool:
        """True where it is the end that is wanted, and its growth."""
        return not self.places and not self.words

    def page(self) -> LogPage | None:
        """The lines; None where no line holds the words."""
        path = _path(self.attempt)
        place = self.places.get
        if (number := place("log_line")) is not None:
            return page_from(path, line_start(path, number), self.words)
        if self.words and "log_from" not in self.places and "log_until" not in self.places:
            hit = find(path, self.words, after=place("log_after", 0), before=place("log_before"))
            return None if hit is None else page_from(path, hit, self.words)
        if (start := place("log_from")) is not None:
            return page_from(path, start, self.words)
        return page_until(path, place("log_until"), self.words)


def log_context(request: SignedIn, run: Run) -> dict[str, Any]:
    """The part that is asked for, else the end of the newest attempt's log."""
    attempts = list(run.attempts.order_by("-n"))
    asked = _asked(request, attempts)
    page = asked.page()
    return {
        "log": page or page_until(_path(asked.attempt)), "log_is_missed": page is None, "log_asked": asked,
        "log_follows": asked.is_following, "log_attempts": attempts,
        "log_n": None if asked.attempt is None or asked.attempt == attempts[0] else asked.attempt.n,
    }  # fmt: skip


@require_safe
def run_log(request: SignedIn, uid: str) -> HttpResponse:
    """The lines alone, for htmx; others go to the page they stand on. `grown`: nobody asked, the log has grown."""
    run = visible_run(request, uid)
    chosen = {name: request.GET[name] for name in PARAMETERS if request.GET.get(name)}
    if not request.htmx:
        return redirect(f"{run.get_absolute_url()}?{urlencode(chosen)}#log")
    context = {"run": run, **log_context(request, run)}
    response = TemplateResponse(request, "run_page/log.html#lines", context)
    if "grown" in request.GET:
        return response
    address = run_address(request, run, PARAMETERS, _canonical(chosen, context["log"]))
    located: HttpResponse = replace_url(response, address)
    return located


@require_safe
def run_log_file(request: SignedIn, uid: str) -> FileResponse:
    """The newest attempt's whole log, as it was written."""
    return _file(visible_run(request, uid).newest_attempt(), f"{uid}.log")


@require_safe
def attempt_log_file(request: SignedIn, uid: str, n: int) -> FileResponse:
    """One attempt's whole log."""
    return _file(visible_run(request, uid).attempts.filter(n=n).first(), f"{uid}-a{n}.log")


def _asked(request: SignedIn, attempts: list[Attempt]) -> LogQuery:
    n = request.GET.get("log_attempt", "")
    numbers = [str(attempt.n) for attempt in attempts]
    if n and n not in numbers:
        raise UnknownChoice(must_be_one_of("log_attempt", numbers, n))
    attempt = attempts[numbers.index(n)] if n else attempts[0] if attempts else None
    given = {name: request.GET.get(name, "") for name in PARAMETERS[2:]}
    places = {name: int(v) for name, v in given.items() if v.isascii() and v.isdigit() and len(v) <= PLACE_DIGITS}
    return LogQuery(attempt, request.GET.get("log_find", "")[:WORDS_AT_MOST], places)


def _canonical(chosen: dict[str, str], page: LogPage) -> dict[str, object]:
    """A hit that was searched for is kept as the place where it was found, so that its link shows the same lines."""
    seeks = "log_line" in chosen or ("log_find" in chosen and not {"log_from", "log_until"} & set(chosen))
    kept = {name: value for name, value in chosen.items() if name not in ("log_after", "log_before", "log_line")}
    return {**kept, **({"log_from": page.start} if seeks else {})}


def _path(attempt: Attempt | None) -> Path | None:
    """Return the path of the attempt's log, or None if there is no attempt or the path is a link.

    Somebody may have put a link to another file in the log's place.
    """
    path = attempt.directory / "log.txt" if attempt else None
    return None if path and path.is_symlink() else path


def _file(attempt: Attempt | None, name: str) -> FileResponse:
    path = _path(attempt)
    if path is None or not path.is_file():
        raise Http404("No log has been written yet.")
    return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type="text/plain; charset=utf-8")
