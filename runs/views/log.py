"""The end of a run's log, as plain text, and the whole file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from django.http import FileResponse, Http404, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from runs.models import Attempt, Run
from runs.views.parameters import SignedIn
from runs.views.visible import visible_run

TAIL_LINES = 200
TAIL_BYTES = 256 * 1024
# CSI sequences (colours, cursor), OSC sequences (titles, links), and the two-letter ones: ECMA-48, §5.4.
ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def log_context(run: Run) -> dict[str, Any]:
    """The last lines of the newest attempt's log."""
    attempt = run.newest_attempt()
    return {"log": tail(attempt.directory / "log.txt") if attempt else "", "log_lines": TAIL_LINES}


@require_safe
def run_log(request: SignedIn, uid: str) -> HttpResponse:
    """The end of the log, alone."""
    found = visible_run(request, uid)
    return TemplateResponse(request, "runs/run.html#log", {"run": found, **log_context(found)})


@require_safe
def run_log_file(request: SignedIn, uid: str) -> FileResponse:
    """The newest attempt's whole log, as it was written."""
    return _file(visible_run(request, uid).newest_attempt(), f"{uid}.log")


@require_safe
def attempt_log_file(request: SignedIn, uid: str, n: int) -> FileResponse:
    """One attempt's whole log."""
    return _file(visible_run(request, uid).attempts.filter(n=n).first(), f"{uid}-a{n}.log")


def _file(attempt: Attempt | None, name: str) -> FileResponse:
    try:
        file = (attempt.directory / "log.txt").open("rb") if attempt else None
    except FileNotFoundError:
        file = None
    if file is None:
        raise Http404("No log has been written yet.")
    return FileResponse(file, as_attachment=True, filename=name, content_type="text/plain; charset=utf-8")


def tail(path: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a file as text that a page can show; empty where there is no file."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    whole = text if size <= TAIL_BYTES else text.partition("\n")[2]
    return "\n".join(printable(line) for line in whole.removesuffix("\n").split("\n")[-lines:])


def printable(line: str) -> str:
    """What a terminal would show of a line: no escape sequences, and only what its last carriage return left."""
    shown = ANSI.sub("", line).rstrip("\r").rpartition("\r")[2]
    return UNPRINTABLE.sub("", shown)
