"""Views of a run's log: its end, followed as it grows, or any page of it, with search; and the whole file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import FileResponse, Http404, HttpResponse, QueryDict
from django.views.decorators.http import require_safe
from django_htmx.http import replace_url

from runs.http import SignedIn, UnknownChoice, must_be_one_of, page_address, visible_run
from runs.models import Attempt, Run
from runs.run_page.attempts import attempts_context
from runs.run_page.log.files import LogPage, SearchStopped, find, log_path, page_from, page_until
from runs.run_page.log.line_index import line_start
from runs.run_page.tabs import tab_fragment, tab_page

PARAMETERS = ("log_attempt", "log_find", "log_from", "log_until", "log_after", "log_before", "log_line")
MAX_WORDS_LENGTH = 200
MAX_POSITION_DIGITS = 15


@dataclass(frozen=True)
class LogQuery:
    """A part of one attempt's log: from a line or a byte, until one, or the next lines that contain `words`."""

    attempt: Attempt | None
    words: str
    positions: dict[str, int]
    reader: int | None = None
    """The id of the user who reads the log."""

    @property
    def is_following(self) -> bool:
        """Return whether the query selects the end of the log and its growth."""
        return not self.positions and not self.words

    def page(self) -> LogPage | None:
        """Return the lines; None if no line contains the words. Raise SearchStopped, or SearchesBusy."""
        path = log_path(self.attempt)
        position = self.positions.get
        if (number := position("log_line")) is not None:
            return page_from(path, line_start(path, number), self.words)
        if self.words and "log_from" not in self.positions and "log_until" not in self.positions:
            hit = find(
                path, self.words, after=position("log_after", 0), before=position("log_before"), reader=self.reader
            )
            return None if hit is None else page_from(path, hit, self.words)
        if (start := position("log_from")) is not None:
            return page_from(path, start, self.words)
        return page_until(path, position("log_until"), self.words)


def log_context(request: SignedIn, run: Run) -> dict[str, Any]:
    """Return the selected part, else the end of the newest attempt's log."""
    attempts = list(run.attempts.order_by("-n"))
    query = _log_query(request, attempts)
    page, stopped_at = None, None
    try:
        page = query.page()
    except SearchStopped as stopped:
        stopped_at = stopped.position
    n = None if query.attempt is None or query.attempt == attempts[0] else query.attempt.n
    return {
        "log": page or page_until(log_path(query.attempt)), "log_is_missed": page is None, "log_stopped_at": stopped_at,
        "log_selection": query,
        "log_follows": query.is_following, "log_attempts": attempts, "log_n": n, "log_params": _page_params(request, n),
    }  # fmt: skip


def _page_params(request: SignedIn, n: int | None) -> QueryDict:
    """Return the parameters of the run's page without those of the log; `n` is the attempt, None for the newest."""
    params = request.GET.copy()
    for name in (*PARAMETERS, "grown"):
        params.pop(name, None)
    if n is not None:
        params["log_attempt"] = str(n)
    return params


@require_safe
def run_log(request: SignedIn, uid: str) -> HttpResponse:
    """Render the tab. htmx gets the lines alone. `grown`: the page requests them because the log has grown."""
    run = visible_run(request, uid)
    log = log_context(request, run)
    if not request.htmx:
        return tab_page(request, run, "log", {**log, **attempts_context(run)})
    response = tab_fragment(request, run, "run_page/log.html#lines", log)
    if "grown" in request.GET:
        return response
    params = {name: request.GET[name] for name in PARAMETERS if request.GET.get(name)}
    address = page_address(request, PARAMETERS, _canonical(params, log["log"]))
    located: HttpResponse = replace_url(response, address)
    return located


@require_safe
def run_log_file(request: SignedIn, uid: str) -> FileResponse:
    """Send the newest attempt's whole log, as it was written."""
    return _file(visible_run(request, uid).newest_attempt(), f"{uid}.log")


@require_safe
def attempt_log_file(request: SignedIn, uid: str, n: int) -> FileResponse:
    """Send one attempt's whole log."""
    return _file(visible_run(request, uid).attempts.filter(n=n).first(), f"{uid}-a{n}.log")


def _log_query(request: SignedIn, attempts: list[Attempt]) -> LogQuery:
    n = request.GET.get("log_attempt", "")
    numbers = [str(attempt.n) for attempt in attempts]
    if n and n not in numbers:
        raise UnknownChoice(must_be_one_of("log_attempt", numbers, n))
    attempt = attempts[numbers.index(n)] if n else attempts[0] if attempts else None
    values = {name: request.GET.get(name, "") for name in PARAMETERS[2:]}
    positions = {
        name: int(v) for name, v in values.items() if v.isascii() and v.isdigit() and len(v) <= MAX_POSITION_DIGITS
    }
    return LogQuery(attempt, request.GET.get("log_find", "")[:MAX_WORDS_LENGTH], positions, request.user.pk)


def _canonical(params: dict[str, str], page: LogPage) -> dict[str, object]:
    """Return the parameters with a search hit replaced by its position, so that the link shows the same lines."""
    seeks = "log_line" in params or ("log_find" in params and not {"log_from", "log_until"} & set(params))
    stable_params = {
        name: value for name, value in params.items() if name not in ("log_after", "log_before", "log_line")
    }
    return {**stable_params, **({"log_from": page.start} if seeks else {})}


def _file(attempt: Attempt | None, name: str) -> FileResponse:
    path = log_path(attempt)
    if path is None or not path.is_file():
        raise Http404("This run has no log yet.")
    return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type="text/plain; charset=utf-8")
