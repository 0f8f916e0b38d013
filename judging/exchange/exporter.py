"""Export a tournament as files: its judgments in two formats, its votes as a table and its judges' transcripts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from asgiref.sync import sync_to_async
from django.db.models import OuterRef, Subquery
from django.http import StreamingHttpResponse
from django.utils.text import slugify

from judging import judge_runs
from judging.exchange.judgments import build_judgments, select_verdicts
from judging.models import Assignment, Judge, Tournament, Turn, Verdict, rubrics_of
from judging.models.tournament_settings import SECRETS, SETTINGS
from judging.stats.votes import COUNTED, FORMATS
from judging.tournaments import RaterNames, get_prompt_names, get_rater_names
from workers.csv_cells import csv_lines

JSONL = "application/x-ndjson"
FORMS = {
    "published": ("jsonl", JSONL),
    "fastchat": ("jsonl", JSONL),
    "csv": ("csv", "text/csv; charset=utf-8"),
}
"""Formats of a tournament's verdicts: each has the file's extension and its media type."""
NO_SCORES = (
    "{n} verdicts have a winner but no scores, as human verdicts have. The published format cannot hold them: "
    "use FastChat's, or the table"
)
FIELDS = (
    "criterion", "prompt", "category", "a", "b", "outcome", "first", "score_a", "score_b", "preference", "by", "kind",
    "sample", "reason", "blind", "seconds", "at", "chance",
)  # fmt: skip
ROW = (
    "comparison__prompt", "comparison__a__name", "comparison__b__name", "outcome", "first", "score_a", "score_b",
    "preference", "voter", "judge", "judge__kind", "sample", "reason", "is_blind", "seconds", "at", "chance",
)  # fmt: skip
READ_BATCH_SIZE = 2000
TURN = Turn.objects.filter(voter=OuterRef("voter"), comparison=OuterRef("comparison"))
NOT_EXPORTED = (*SECRETS, "is_private")
"""Secrets are exported in other forms. A file does not say who may see its tournament."""
ENTRY = ("name", "step", "split")


class ExportRefused(ValueError):
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


def check_export(tournament: Tournament, options: ExportOptions) -> None:
    """Raise CannotWrite if the format is unknown or cannot express all verdicts.

    Call it before the first line is sent.
    """
    if options.form not in FORMS:
        raise ExportRefused(f"form must be one of {', '.join(FORMS)}, not {options.form[:40]!r}")
    if options.form == "published" and (count := count_without_scores(tournament, every=options.every)):
        raise ExportRefused(NO_SCORES.format(n=count))


def count_without_scores(tournament: Tournament, *, every: bool = False) -> int:
    """Return the number of verdicts that the published format cannot express: they have an outcome but no scores."""
    outcomes = [outcome.name.lower() for outcome in COUNTED]
    verdict_sets = (select_verdicts(tournament, rubric, every=every) for rubric in tournament.rubrics.all())
    return sum(rows.filter(outcome__in=outcomes, score_a=None).count() for rows in verdict_sets)


def export_lines(tournament: Tournament, options: ExportOptions) -> Iterator[str]:
    """Yield the lines of the file, with line ends, as the verdicts are read. Call `check` first."""
    rater_names = get_rater_names(tournament, by_name=options.by_name)
    if options.form == "csv":
        return csv_lines(_rows(tournament, rater_names, every=options.every))
    exported = chain.from_iterable(
        build_judgments(tournament, rubric, name, rater_names, every=options.every)
        for rubric, name in rubrics_of(tournament).items()
    )
    return (f"{line}\n" for line in FORMATS[options.form](exported))


def transcript_lines(tournament: Tournament) -> Iterator[str]:
    """Yield all requests to the tournament's judges and all their replies, as JSON lines without any key."""
    for assignment in tournament.assignments.select_related("judge").order_by("pk"):
        yield from assignment_transcript_lines(assignment)


def assignment_transcript_lines(assignment: Assignment) -> Iterator[str]:
    """Yield the requests and replies of one assignment, as JSON lines without any key."""
    return (f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in judge_runs.transcript(assignment))


def file_name(tournament: Tournament, content: str, extension: str) -> str:
    """Return the name of a file of this tournament."""
    return f"{slugify(tournament.name)[:60] or 'tournament'}-{content}.{extension}"


def _rows(tournament: Tournament, rater_names: RaterNames, *, every: bool) -> Iterator[Sequence[Any]]:
    """Yield FIELDS, and the current verdicts on contestants, with the comparisons that were skipped.

    Include verdicts that no board admits only if `every` is true.
    """
    yield FIELDS
    chosen_prompts = list(tournament.chosen_prompts.select_related("prompt"))
    prompts = {
        prompt.pk: (name, "; ".join(prompt.categories))
        for prompt, name in zip(chosen_prompts, get_prompt_names(chosen_prompts).values(), strict=True)
    }
    for rubric, criterion in rubrics_of(tournament).items():
        verdicts = Verdict.objects.current().filter(
            comparison__tournament=tournament, comparison__gold_pair=None, rubric=rubric
        )
        if not every:
            skipped = verdicts.filter(outcome="skip").values("pk")
            verdicts = verdicts.filter(
                pk__in=select_verdicts(tournament, rubric, every=False).values("pk").union(skipped, all=True)
            )
        verdicts = verdicts.annotate(chance=Subquery(TURN.values("chance")[:1]))
        for row in verdicts.order_by("pk").values_list(*ROW).iterator(READ_BATCH_SIZE):
            yield _cells(row, criterion, prompts[row[0]], rater_names)


def _cells(row: tuple[Any, ...], criterion: str, prompt: tuple[str, str], rater_names: RaterNames) -> list[Any]:
    voter, judge, kind = row[8:11]
    rater_kind = "person" if judge is None else "rules" if kind == Judge.Kind.RULES else kind
    return [
        criterion,
        *prompt,
        *row[1:8],
        rater_names.name(voter, judge),
        rater_kind,
        *row[11:15],
        row[15].isoformat(),
        row[16],
    ]


PIECE_BYTES = 1 << 16


def export_response(tournament: Tournament, options: ExportOptions) -> StreamingHttpResponse:
    """Return a tournament's verdicts as a file to download. Call `check` first."""
    extension, media_type = FORMS[options.form]
    return stream_file(export_lines(tournament, options), file_name(tournament, options.form, extension), media_type)


def stream_file(file_lines: Iterator[str], name: str, media_type: str) -> StreamingHttpResponse:
    """Return the lines as a download with this file name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(_stream(_join_lines(file_lines)), content_type=media_type, headers=headers)


async def _stream(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces. Each one is built in the thread that queries the database."""
    next_piece = sync_to_async(lambda: next(pieces, None))
    while (piece := await next_piece()) is not None:
        yield piece


def _join_lines(file_lines: Iterator[str]) -> Iterator[bytes]:
    buffer: list[str] = []
    size = 0
    for line in file_lines:
        buffer.append(line)
        size += len(line)
        if size >= PIECE_BYTES:
            yield "".join(buffer).encode()
            buffer, size = [], 0
    if buffer:
        yield "".join(buffer).encode()


def tournament_setup(tournament: Tournament, *, unblinded: bool) -> dict[str, Any]:
    """Return the tournament's settings, contestants, criteria, number of prompts and the settings of its judges' work.

    Future voters must not know the seed and the gold set, so these are null unless `unblinded` is true.
    """
    gold = tournament.gold_set if unblinded else None
    return {
        **{name: getattr(tournament, name) for name in SETTINGS if name not in NOT_EXPORTED},
        "seed": tournament.seed if unblinded else None,
        "gold_every": None if gold is None else tournament.gold_every,
        "gold_set": None if gold is None else {"name": gold.name, "sha256": gold.sha256},
        "contestants": list(tournament.contestants.order_by("place").values(*ENTRY)),
        "criteria": [
            {"name": name, "rubric": str(rubric), "digest": rubric.digest}
            for rubric, name in rubrics_of(tournament).items()
        ],
        "prompts": tournament.chosen_prompts.count(),
        "judges": [_assignment_settings(assignment) for assignment in _assignments(tournament)],
    }


def _assignments(tournament: Tournament) -> list[Assignment]:
    rows = tournament.assignments.select_related("judge").prefetch_related("rubrics__criterion")
    return list(rows.order_by("pk"))


def _assignment_settings(row: Assignment) -> dict[str, Any]:
    return {
        "judge": row.judge.name, "model": row.judge.model, "digest": row.judge.digest, "state": row.state,
        "criteria": sorted(str(rubric) for rubric in row.rubrics.all()), "both_orders": row.both_orders,
        "samples": row.samples, "asks_twice": row.asks_twice, "planned": row.planned,
    }  # fmt: skip
