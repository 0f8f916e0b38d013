"""API of logs: read one page by page, and follow it."""

from __future__ import annotations

from typing import Annotated

from ninja import Schema
from pydantic import Field

from runs.http import ApiRequest, Invalid, Key, needs, router
from runs.run_page.api import get_visible_attempt
from runs.run_page.log.files import log_path, page_from, page_until
from runs.run_page.log.line_index import beginning_of_line
from workers.config import Problem

LogStart = Annotated[int, Field(ge=0, le=2**63 - 1)] | None
LogEnd = Annotated[int, Field(ge=1, le=2**63 - 1)] | None


class LogOut(Schema):
    """Lines of an attempt's log, as a terminal would show them, without colours. `first` is the number of the first
    line, counted from 1.

    `start`, `end` and `size` are in bytes. `unfinished` is the last line while the attempt may still continue it; it
    begins at `end`.
    """

    start: int
    end: int
    size: int
    first: int
    lines: list[str]
    unfinished: str


@router.get("/attempts/{key}/log", response=LogOut, auth=needs("read"), tags=["attempts"], summary="Read a log")
def read_log(request: ApiRequest, key: Key, start: LogStart = None, until: LogEnd = None) -> LogOut:
    """Return up to 500 lines of an attempt's log: the last ones, those from byte `start`, or those before byte `until`.

    To follow the log, pass `end` of each reply as `start` of the next call; to read backwards, pass `start` as `until`.
    An attempt without a log has no lines and the size 0.
    """
    if start is not None and until is not None:
        raise Invalid(Problem("until", "cannot be combined with start; give one of them"))
    path = log_path(get_visible_attempt(request.auth, key))
    page = page_until(path, until) if start is None else page_from(path, start)
    for name, position in (("start", start), ("until", until)):
        if position is not None and position > page.size:
            raise Invalid(Problem(name, f"must be at most {page.size}, the size of the log, not {position}"))
    lines, end, unfinished = [line.text for line in page.lines], page.end, ""
    if path is not None and page.is_last and lines:
        with path.open("rb") as file:
            end = beginning_of_line(file, page.end)
        unfinished = lines.pop() if end < page.end else ""
    return LogOut(start=page.start, end=end, size=page.size, first=page.first, lines=lines, unfinished=unfinished)
