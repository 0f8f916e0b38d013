"""Export a tournament as files: its judgments in two formats, its votes as a table and its judges' transcripts."""

from __future__ import annotations

import csv
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from asgiref.sync import sync_to_async
from django.db.models import OuterRef, Subquery
from django.http import StreamingHttpResponse
from django.utils.text import slugify

from judging import judge_runs
from judging.exchange.judgments import judgments, rated_in
from judging.models import Assignment, Judge, Tournament, Turn, Verdict, rubrics_of
from judging.stats.votes import COUNTED, FORMATS
from judging.tournaments import Speakers, called, speakers
from workers.csv_cells import inert

JSONL = "application/x-ndjson"
FORMS = {
    "published": ("jsonl", JSONL),
    "fastchat": ("jsonl", JSONL),
    "csv": ("csv", "text/csv; charset=utf-8"),
}
"""Formats of a tournament's verdicts: each has the file's extension and its media type."""
NO_SCORES = (
    "{n} verdicts have a winner and no scores, as people's have, which the published format cannot say: "
    "take FastChat's, or the table"
)
FIELDS = (
    "criterion", "prompt", "category", "a", "b", "outcome", "first", "score_a", "score_b", "by", "kind", "sample",
    "reason", "blind", "seconds", "at", "chance",
)  # fmt: skip
ROW = (
    "comparison__prompt", "comparison__a__name", "comparison__b__name", "outcome", "first", "score_a", "score_b",
    "voter", "judge", "judge__kind", "sample", "reason", "is_blind", "seconds", "at", "chance",
)  # fmt: skip
READ_AT_ONCE = 2000
TURN = Turn.objects.filter(voter=OuterRef("voter"), comparison=OuterRef("comparison"))
SETTINGS = ("name", "question", "overlap", "picks", "reveals", "warns")
ENTRY = ("name", "step", "split")


class CannotWrite(ValueError):
    """Error: the format is unknown or cannot express a verdict. The message names formats that can."""


@dataclass(frozen=True)
class ExportOptions:
    """Options of an export.

    `every`: include verdicts that no board admits. `by_name`: give voters' own names, which only a tournament's owner
    may request.
    """

    form: str = "fastchat"
    every: bool = False
    by_name: bool = False


def check(tournament: Tournament, asked: ExportOptions) -> None:
    """Raise CannotWrite if the format is unknown or cannot express all verdicts.

    Call it before the first line is sent.
    """
    if asked.form not in FORMS:
        raise CannotWrite(f"form is one of {', '.join(FORMS)}, not {asked.form[:40]!r}")
    if asked.form == "published" and (count := without_scores(tournament, every=asked.every)):
        raise CannotWrite(NO_SCORES.format(n=count))


def without_scores(tournament: Tournament, *, every: bool = False) -> int:
    """Return the number of verdicts that the published format cannot express: they have an outcome but no scores."""
    said = [outcome.name.lower() for outcome in COUNTED]
    found = (rated_in(tournament, rubric, every=every) for rubric in tournament.rubrics.all())
    return sum(one.filter(outcome__in=said, score_a=None).count() for one in found)


def lines(tournament: Tournament, asked: ExportOptions) -> Iterator[str]:
    """Yield the lines of the file, with line ends, as the verdicts are read. Call `check` first."""
    who = speakers(tournament, by_name=asked.by_name)
    if asked.form == "csv":
        return _table(tournament, who, every=asked.every)
    said = chain.from_iterable(
        judgments(tournament, rubric, name, who, every=asked.every) for rubric, name in rubrics_of(tournament).items()
    )
    return (f"{line}\n" for line in FORMATS[asked.form](said))


def transcript_lines(tournament: Tournament) -> Iterator[str]:
    """Yield all requests to the tournament's judges and all their replies, as JSON lines without any key."""
    for one in tournament.assignments.select_related("judge").order_by("pk"):
        yield from transcript_of(one)


def transcript_of(assignment: Assignment) -> Iterator[str]:
    """Yield the requests and replies of one assignment, as JSON lines without any key."""
    return (f"{json.dumps(said, ensure_ascii=False)}\n" for said in judge_runs.transcript(assignment))


def name_of(tournament: Tournament, what: str, ending: str) -> str:
    """Return the name of a file of this tournament."""
    return f"{slugify(tournament.name)[:60] or 'tournament'}-{what}.{ending}"


class _Line:
    """File-like object that stores nothing: `write` returns its text."""

    def write(self, text: str) -> str:
        return text


def _table(tournament: Tournament, who: Speakers, *, every: bool) -> Iterator[str]:
    """Yield the CSV lines of the current verdicts on contestants, with the comparisons that were skipped.

    Include verdicts that no board admits only if `every` is true.
    """
    writer = csv.writer(_Line())
    yield writer.writerow(FIELDS)
    chosen = list(tournament.chosen_prompts.select_related("prompt"))
    prompts = {
        one.pk: (name, "; ".join(one.categories)) for one, name in zip(chosen, called(chosen).values(), strict=True)
    }
    for rubric, criterion in rubrics_of(tournament).items():
        found = Verdict.objects.current().filter(
            comparison__tournament=tournament, comparison__gold_pair=None, rubric=rubric
        )
        if not every:
            skipped = found.filter(outcome="skip").values("pk")
            found = found.filter(pk__in=rated_in(tournament, rubric, every=False).values("pk").union(skipped, all=True))
        found = found.annotate(chance=Subquery(TURN.values("chance")[:1]))
        for row in found.order_by("pk").values_list(*ROW).iterator(READ_AT_ONCE):
            yield writer.writerow([inert(cell) for cell in _cells(row, criterion, prompts[row[0]], who)])


def _cells(row: tuple[Any, ...], criterion: str, prompt: tuple[str, str], who: Speakers) -> list[Any]:
    voter, judge, kind = row[7:10]
    said = "person" if judge is None else "rules" if kind == Judge.Kind.RULES else kind
    return [criterion, *prompt, *row[1:7], who.name(voter, judge), said, *row[10:14], row[14].isoformat(), row[15]]


PIECE = 1 << 16


def sent(tournament: Tournament, asked: ExportOptions) -> StreamingHttpResponse:
    """Return a tournament's verdicts as a file to download. Call `check` first."""
    ending, media_type = FORMS[asked.form]
    return send(lines(tournament, asked), name_of(tournament, asked.form, ending), media_type)


def send(said: Iterator[str], name: str, media_type: str) -> StreamingHttpResponse:
    """Return the lines as a download with this file name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(_sent(_pieces(said)), content_type=media_type, headers=headers)


async def _sent(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces. Each one is built in the thread that queries the database."""
    following = sync_to_async(lambda: next(pieces, None))
    while (piece := await following()) is not None:
        yield piece


def _pieces(said: Iterator[str]) -> Iterator[bytes]:
    held: list[str] = []
    size = 0
    for line in said:
        held.append(line)
        size += len(line)
        if size >= PIECE:
            yield "".join(held).encode()
            held, size = [], 0
    if held:
        yield "".join(held).encode()


def setup(tournament: Tournament, *, unblinded: bool) -> dict[str, Any]:
    """Return the tournament's settings, contestants, criteria, number of prompts and the settings of its judges' work.

    Future voters must not know the seed and the gold set, so these are null unless `unblinded` is true.
    """
    gold = tournament.gold_set if unblinded else None
    return {
        **{name: getattr(tournament, name) for name in SETTINGS},
        "seed": tournament.seed if unblinded else None,
        "gold_every": None if gold is None else tournament.gold_every,
        "gold_set": None if gold is None else {"name": gold.name, "sha256": gold.sha256},
        "contestants": list(tournament.contestants.order_by("place").values(*ENTRY)),
        "criteria": [
            {"name": name, "rubric": str(one), "digest": one.digest} for one, name in rubrics_of(tournament).items()
        ],
        "prompts": tournament.chosen_prompts.count(),
        "judges": [_put(one) for one in _at_work(tournament)],
    }


def _at_work(tournament: Tournament) -> list[Assignment]:
    rows = tournament.assignments.select_related("judge").prefetch_related("rubrics__criterion")
    return list(rows.order_by("pk"))


def _put(row: Assignment) -> dict[str, Any]:
    return {
        "judge": row.judge.name, "model": row.judge.model, "digest": row.judge.digest, "state": row.state,
        "criteria": sorted(str(one) for one in row.rubrics.all()), "both_orders": row.both_orders,
        "samples": row.samples, "asks_twice": row.asks_twice, "planned": row.planned,
    }  # fmt: skip
