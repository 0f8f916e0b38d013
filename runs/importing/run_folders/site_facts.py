"""Apply what an exporting site knew of a run and no record states: `site.json` and `scores.jsonl` of exported attempts.

Both may be anybody's. A value that cannot be stored is reported, and the run is what its records show. A run that was
known before keeps its name, note and tags, which its user may have changed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from runs.importing.files import File
from runs.importing.records import ImportReport
from runs.importing.run_folders.attempt_folder import AttemptFolder
from runs.importing.run_folders.own_files import MAX_TIME, METHOD_NAME, SHA256
from runs.ingest import GivenScore, save_scores
from runs.ingest.limits import LEVELS
from runs.ingest.storable import storable
from runs.models import Attempt, AttemptEvent, ExternalRun, Import, Response, Run
from runs.models.attempt_files import SITE_FACTS
from runs.models.trash import TAG_LENGTH
from workers.config.shallow_json import loads
from workers.executors.states import OPEN_STATES, State
from workers.site_facts import AttemptFacts, BadSiteFacts, EventFacts, ProgramFacts, RunFacts, SiteFacts

MAX_BYTES = 8 * 1024 * 1024
"""Size of a site.json: its events have at most 10 000 lines. JSON of empty lists takes 30 times its size in memory."""
MAX_TAGS = 50
MAX_NAME, MAX_PRESET, MAX_SCORER, MAX_KEY, MAX_NATIVE = 200, 100, 100, 20, 100
MAX_ORIGIN, MAX_REASON = 60, 10_000
SMALL = 2**31
MAX_BITS = 900
"""Bits of a whole number that every reader of the database's JSON takes."""
LINE_BYTES = 64 * 1024
SCORES_PER_QUERY = 1000
MAX_SCORERS = 50
"""Scorers of an attempt: each costs queries of its own."""
STATED_ORIGINS = ("push", "external")
"""Origins of series that a file may state. Its claim to be of the common evaluator changes nothing: an import from a
folder of ours is that already, as far as its records tell."""
IMPORTED = "import:"
STATES = {state.value for state in State}
FINAL = STATES - {state.value for state in OPEN_STATES}


def apply_site_facts(attempt: Attempt, facts: SiteFacts, report: ImportReport) -> None:
    """Store the state, the times and the events of an attempt as the site had them."""
    _apply_attempt(attempt, facts.attempt)
    _replace_events(attempt, facts.events)
    if facts.attempt.state in OPEN_STATES:
        report.facts.append(f"{attempt.key} was {facts.attempt.state} when it was exported: its records may go on")


def read_site_facts(folder: AttemptFolder, report: ImportReport) -> SiteFacts | None:
    """Return the facts of an attempt; None if its folder has none, or none that can be used."""
    file = folder.files.get(SITE_FACTS)
    if file is None:
        return None
    if file.size > MAX_BYTES:
        report.add_remark(file.name, f"has {file.size} bytes; at most {MAX_BYTES} are read")
        return None
    try:
        return SiteFacts.from_json(loads(file.head(MAX_BYTES)))
    except (BadSiteFacts, ValueError) as error:
        report.add_remark(file.name, f"cannot be used, so the state is that of the records: {error}"[:500])
        return None


def _apply_attempt(attempt: Attempt, facts: AttemptFacts) -> None:
    fields: dict[str, Any] = {
        "reason": storable(facts.reason)[:MAX_REASON],
        "native_id": storable(facts.native_id)[:MAX_NATIVE],
        "native_state": storable(facts.native_state)[:MAX_NATIVE],
        "exit_code": _small(facts.exit_code),
        "exit_signal": _small(facts.exit_signal),
        "progress": facts.progress if facts.progress is not None and 0 <= facts.progress <= 1 else None,
        "started_at": _moment(facts.started_at),
        "ended_at": _moment(facts.ended_at),
        "resumed_attempt": _small(facts.resumed_attempt, 0),
        "resumed_step": facts.resumed_step,
        "code": _code(facts.code),
    }
    if is_final(facts.state):
        fields["state"] = facts.state
    Attempt.objects.filter(pk=attempt.pk).update(**fields)


def is_final(state: str) -> bool:
    """Return whether an attempt that was imported may have this state: it runs nowhere here."""
    return state in FINAL


def _replace_events(attempt: Attempt, events: Iterable[EventFacts]) -> None:
    """Replace the events that the import made of alerts by those of the site, before the note on the import itself."""
    arrival = list(attempt.events.filter(from_state__gt="").order_by("-pk")[:1])
    attempt.events.exclude(pk__in=[event.pk for event in arrival]).delete()
    valid = [event for event in events if _moment(event.at) is not None]
    rows = AttemptEvent.objects.bulk_create(
        AttemptEvent(
            attempt=attempt,
            level=event.level if event.level in LEVELS else "info",
            from_state=_state(event.from_state),
            to_state=_state(event.to_state),
            why=storable(event.why),
        )
        for event in valid
    )
    for row, event in zip(rows, valid, strict=True):
        row.at = _moment(event.at) or row.at
    AttemptEvent.objects.bulk_update(rows, ["at"], batch_size=1000)


def _state(name: str) -> str:
    """Return the name of a state; an empty text for any other, which no page could show."""
    return name if name in STATES else ""


def apply_run_facts(run: Run, facts: RunFacts, *, is_new: bool) -> None:
    """Store what the site of the newest attempt knew of the run. Its uid and its parent are labels of that site."""
    run.refresh_from_db()
    if (state := run.attempts.order_by("-n").values_list("state", flat=True).first()) is not None:
        run.state = state
    if is_new:
        run.name = storable(facts.name)[:MAX_NAME] or run.name
        run.note, run.preset = storable(facts.note), storable(facts.preset)[:MAX_PRESET]
        run.tags = [storable(tag) for tag in facts.tags[:MAX_TAGS] if 0 < len(tag) <= TAG_LENGTH]
        run.cell = None if facts.cell is None else _storable_json(facts.cell)
        run.estimated_seconds = facts.estimated_seconds if (facts.estimated_seconds or 0) >= 0 else None
        run.parent_step = facts.parent_step if run.parent_step is None else run.parent_step
    if "method" not in run.config:
        run.method = facts.method if METHOD_NAME.fullmatch(facts.method) else run.method
        run.seed = facts.seed if facts.seed >= -1 else run.seed
    run.save()
    Import.objects.filter(run=run).update(series_origin=series_origin(facts))
    if facts.external is not None:
        _apply_program(run, facts.external)


def series_origin(facts: RunFacts) -> str:
    """Return who measured the series, if it was not the common evaluator; else an empty text."""
    origin = storable(facts.series_origin)
    is_stated = origin in STATED_ORIGINS or (origin.startswith(IMPORTED) and origin.isprintable())
    return origin if is_stated and len(origin) <= MAX_ORIGIN else ""


def _apply_program(run: Run, facts: ProgramFacts) -> None:
    """Store the program that reported the run, without an id by which a program would continue it."""
    texts = {name: storable(getattr(facts, name))[:200] for name in ("program", "host")}
    defaults = {
        **texts, "command": storable(facts.command), "git": _storable_json(facts.git),
        "summary": _storable_json(facts.summary), "lost_after_seconds": min(max(1.0, facts.lost_after_seconds), 1e7),
        "owner": run.created_by,
    }  # fmt: skip
    ExternalRun.objects.get_or_create(run=run, defaults=defaults)


def apply_scores(attempt: Attempt, file: File, report: ImportReport) -> None:
    """Save the scores of a file, and report the lines that are none. Raise OSError."""
    waiting: list[tuple[int, int, str, str, float]] = []
    scorers = set[str]()
    for number, raw in enumerate(_lines(file), 1):
        try:
            score = _score(loads(raw))
            scorers.add(score[2])
            if len(scorers) > MAX_SCORERS:
                scorers.discard(score[2])
                raise ValueError(f"scores of at most {MAX_SCORERS} scorers are read")
            waiting.append(score)
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            report.add_remark(f"{file.name}, line {number}", f"is no score: {error}"[:300])
        if len(waiting) == SCORES_PER_QUERY:
            _save_scores(attempt, waiting, file, report)
            waiting = []
    _save_scores(attempt, waiting, file, report)


def _save_scores(
    attempt: Attempt, scores: list[tuple[int, int, str, str, float]], file: File, report: ImportReport
) -> None:
    rows = Response.objects.filter(attempt=attempt, seq__in={seq for _, seq, *_ in scores})
    ids = {(epoch, seq): pk for pk, epoch, seq in rows.values_list("pk", "epoch", "seq")}
    by_scorer: dict[str, dict[tuple[int, str], GivenScore]] = defaultdict(dict)
    for epoch, seq, scorer, key, value in scores:
        if (pk := ids.get((epoch, seq))) is None:
            report.add_remark(file.name, f"a score is of seq {seq} in epoch {epoch}, which is no response")
        else:
            by_scorer[scorer][pk, key] = (pk, key, value)
    for scorer, given in by_scorer.items():
        save_scores(scorer, given.values())


def _score(line: Any) -> tuple[int, int, str, str, float]:
    """Return (epoch, seq, scorer, key, value) of a line. Raise ValueError, KeyError or TypeError if it is no score."""
    epoch, seq, scorer, key, value = (line[name] for name in ("epoch", "seq", "scorer", "key", "value"))
    if any(type(number) is not int or not 0 <= number < 2**63 for number in (epoch, seq)) or epoch >= SMALL:
        raise ValueError("epoch and seq must be whole numbers from 0")
    for name, text, most in (("scorer", scorer, MAX_SCORER), ("key", key, MAX_KEY)):
        if not isinstance(text, str) or not 0 < len(text) <= most or storable(text) != text:
            raise ValueError(f"{name} must have 1 to {most} characters")
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError("value must be a finite number")
    return epoch, seq, scorer, key, float(value)


def _lines(file: File) -> Iterator[bytes]:
    with file.open() as opened:
        while line := opened.readline(LINE_BYTES):
            if line.strip():
                yield line


def _storable_json(value: Any) -> Any:
    """Return JSON that the database can store: characters and numbers that it has not become text."""
    if isinstance(value, dict):
        return {storable(name): _storable_json(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_storable_json(item) for item in value]
    if isinstance(value, str):
        return storable(value)
    is_beyond = isinstance(value, float) and not math.isfinite(value)
    is_beyond = is_beyond or (isinstance(value, int) and value.bit_length() > MAX_BITS)
    return str(value)[:MAX_NAME] if is_beyond else value


def _moment(seconds: float | None) -> datetime | None:
    if seconds is None or not 0 <= seconds < MAX_TIME:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _small(number: int | None, least: int = -SMALL) -> int | None:
    return number if number is not None and least <= number < SMALL else None


def _code(code: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the identity of the code, if it is one."""
    if code is None or not isinstance(code.get("sha256"), str) or not SHA256.fullmatch(code["sha256"]):
        return None
    texts: dict[str, Any] = {
        name: code[name] for name in ("sha256", "version", "commit", "diff_sha256") if name in code
    }
    if any(not isinstance(text, str) or len(text) > MAX_NAME or storable(text) != text for text in texts.values()):
        return None
    return {**texts, **({"is_dirty": code["is_dirty"]} if isinstance(code.get("is_dirty"), bool) else {})}
