"""Facts about an attempt that the site knows and no record states, as `site.json` and `scores.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db import connection

from runs import metrics
from runs.models import Attempt, ExternalRun, Import, Run, Score
from runs.sharing.redaction import without_secrets
from workers.site_facts import (
    MAX_EVENTS,
    AttemptFacts,
    EventFacts,
    ProgramFacts,
    RunFacts,
    SiteFacts,
    SourceFacts,
)

SCORES_PER_QUERY = 2000
RUN_FIELDS = ("uid", "name", "method", "seed", "state", "preset", "note", "parent_step", "cell", "estimated_seconds")
ATTEMPT_FIELDS = (
    "n", "origin", "state", "reason", "native_id", "native_state", "exit_code", "exit_signal", "phase",
    "phase_message", "progress", "resumed_attempt", "resumed_step", "code",
)  # fmt: skip


def site_facts(attempt: Attempt, run: RunFacts, records: str) -> SiteFacts:
    """Return the facts of an attempt. records: `files` or `rows`, the origin of its records."""
    fields: dict[str, Any] = {name: getattr(attempt, name) for name in ATTEMPT_FIELDS}
    fields |= {name: _seconds(getattr(attempt, name)) for name in ("started_at", "ended_at")}
    newest = attempt.events.order_by("-pk")[:MAX_EVENTS]
    events = tuple(
        EventFacts(event.at.timestamp(), event.level, event.why, event.from_state, event.to_state)
        for event in reversed(newest)
    )
    return SiteFacts(run, AttemptFacts(**fields), records, events)


def run_facts(run: Run, parent: str) -> RunFacts:
    """Return the facts of a run. parent: uid of its parent, if the reader may see it."""
    external: ExternalRun | None = getattr(run, "external", None)
    source: Import | None = getattr(run, "source", None)
    return RunFacts(
        **{name: getattr(run, name) for name in RUN_FIELDS},
        tags=tuple(run.tags),
        parent=parent,
        sweep=run.sweep.name if run.sweep else "",
        series_origin=metrics.origins_of([run])[run.pk],
        source=None if source is None else _source(source),
        external=None if external is None else _program(external),
    )


def score_lines(attempt: Attempt, written_seqs: Mapping[int, Mapping[int, int]]) -> Iterator[bytes]:
    """Yield the scores that were given to the attempt's responses afterwards, a JSON object per line.

    written_seqs: epoch -> stored seq -> written seq of responses, if the records were written anew.
    """
    rows = Score.objects.filter(response__attempt=attempt).order_by("pk")
    columns = ("pk", "response__epoch", "response__seq", "scorer", "key", "value", "at")
    last = 0
    while page := list(rows.filter(pk__gt=last).values_list(*columns)[:SCORES_PER_QUERY]):
        if not connection.in_atomic_block:
            connection.close()
        for last, epoch, seq, scorer, key, value, at in page:  # noqa: B007 (the last one is where the next page begins)
            written = written_seqs.get(epoch, {}).get(seq, seq)
            line = {"epoch": epoch, "seq": written, "scorer": scorer, "key": key, "value": value, "at": at.timestamp()}
            yield json.dumps(line, ensure_ascii=False).encode() + b"\n"


def config_json(run: Run) -> bytes:
    """Return the run's config without secrets, as run.json."""
    return json.dumps(without_secrets(run.config), ensure_ascii=False).encode()


def _source(source: Import) -> SourceFacts:
    return SourceFacts(source.kind, source.name, source.sha256, source.bytes, source.part, source.records)


def _program(external: ExternalRun) -> ProgramFacts:
    """Return the program without the id by which its later starts continue the run of this site."""
    cleaned: dict[str, Any] = {
        name: without_secrets(getattr(external, name)) for name in ("program", "host", "command", "git", "summary")
    }
    return ProgramFacts(**cleaned, lost_after_seconds=external.lost_after_seconds)


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
