"""Facts about the program that reports an external run, as the overview shows them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import gettext

from runs.models import AttemptEvent, ExternalRun, Run

MAX_SUMMARY_VALUES = 60
MAX_ALERTS = 10
MAX_VALUE_LENGTH = 300
COMMIT = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True)
class ProgramFacts:
    """The facts of the program, by their titles, its command and its git state, the values of its summary, and its
    newest warnings and errors.

    commit_url: the page of the commit, if the remote is an https address; else empty.
    """

    facts: list[tuple[str, str]]
    command: str
    commit: str
    commit_url: str
    is_dirty: bool
    summary: list[tuple[str, str]]
    alerts: list[AttemptEvent]


def program_facts(run: Run) -> ProgramFacts | None:
    """Return what is known of the program that reports a run; None for runs that are not external."""
    external: ExternalRun | None = getattr(run, "external", None)
    if external is None:
        return None
    git = external.git if isinstance(external.git, Mapping) else {}
    values = {
        gettext("Program"): external.program, gettext("Host"): external.host, gettext("Run id"): external.client_id,
        gettext("Git branch"): _text(git.get("branch")),
    }  # fmt: skip
    commit = _text(git.get("commit"))
    return ProgramFacts(
        [(title, value) for title, value in values.items() if value], external.command, commit,
        commit_url(_text(git.get("remote")), commit), git.get("dirty") is True, _summary(external.summary),
        _alerts(run),
    )  # fmt: skip


def commit_url(remote: str, commit: str) -> str:
    """Return the address of the commit's page at an https remote, without the remote's user name and password; an empty
    text for other remotes."""
    try:
        parts = urlsplit(remote)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if parts.scheme != "https" or not host or not COMMIT.fullmatch(commit):
        return ""
    place = f"{host}:{port}" if port else host
    return f"https://{place}{parts.path.removesuffix('/').removesuffix('.git')}/commit/{commit}"


def _alerts(run: Run) -> list[AttemptEvent]:
    """Return the newest warnings and errors that are no changes of state: alerts of the program, such as records that
    are missing, and what this site could not store."""
    events = AttemptEvent.objects.filter(attempt__run=run, to_state="", level__in=("warning", "error"))
    return list(events.order_by("-at", "-pk")[:MAX_ALERTS])


def _summary(summary: object) -> list[tuple[str, str]]:
    values = summary if isinstance(summary, Mapping) else {}
    return [(name, _shortened(value)) for name, value in sorted(values.items())[:MAX_SUMMARY_VALUES]]


def _shortened(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}…"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
