"""`manage.py ratings FILE…`: files of judgments become a board, in the terminal or as JSON. Nothing is stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.boards.report import Report, report, text
from judging.stats.agreement import POLICIES
from judging.stats.ratings import TIES, UNITS, Elo, RatingOptions, Resampling
from judging.stats.ratings.scale import INIT
from judging.stats.votes import TIE_THRESHOLD, Judged, Votes, criteria, read, together, votes_of

PROBLEMS_SHOWN = 10
LARGEST = 1 << 30


class Command(BaseCommand):
    """Rates the contestants of judgments."""

    help = "Rates models by judgments in the published format or FastChat's, each with its interval."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="JSON lines, or a JSON list")
        parser.add_argument("--criterion", action="append", default=[], help="only this one; may be repeated")
        parser.add_argument("--by-category", action="store_true", help="a board for each category too")
        parser.add_argument("--pairs", action="store_true", help="every two against each other, with n")
        parser.add_argument("--anchor", metavar="CONTESTANT", help="who stands at --init; default: the mean does")
        parser.add_argument("--init", type=float, default=INIT, help="the initial rating, also of online Elo")
        parser.add_argument("--ties", choices=TIES, default=TIES[0], help="half-win, or a model of ties")
        parser.add_argument(
            "--swap", choices=list(POLICIES), default="as-is", help="what two games of a pair count for"
        )
        parser.add_argument("--tie-threshold", type=float, default=TIE_THRESHOLD, help="scores this close are a tie")
        parser.add_argument("--control", action="append", default=[], help="position or length; may be repeated")
        parser.add_argument("--unit", choices=list(UNITS), default="prompt", help="what intervals resample")
        parser.add_argument("--level", type=float, default=0.95, help="of intervals")
        parser.add_argument("--resamples", type=int, default=1000)
        parser.add_argument("--seed", type=int, default=0, help="of resamples")
        parser.add_argument("--prior", type=float, default=0.0, help="wins added each way to every pair that met")
        parser.add_argument("--online-elo", action="store_true", help="online Elo too, as published")
        parser.add_argument("--k", type=float, default=32.0, help="of online Elo")
        parser.add_argument("--shuffle-seed", type=int, default=123, help="of online Elo; -1 keeps the file's order")
        parser.add_argument("--json", action="store_true", help="say it as JSON")

    def handle(self, *, files: list[Path], **options: Any) -> None:
        judged = together([_file(path) for path in files])
        try:
            reports = _reports(judged, options)
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            _as_json(judged, reports) if options["json"] else _in_words(judged, reports, options["pairs"])
        )


def _file(path: Path) -> Judged:
    try:
        if path.stat().st_size > LARGEST:
            raise CommandError(f"{path} is larger than {LARGEST >> 30} GiB")
        return read(path.read_text(encoding="utf-8"), path.name)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def _reports(judged: Judged, options: dict[str, Any]) -> list[Report]:
    shuffle = None if options["shuffle_seed"] < 0 else options["shuffle_seed"]
    elo = Elo(k=options["k"], init=options["init"], shuffle=shuffle) if options["online_elo"] else None
    how = Resampling(options["unit"], options["resamples"], options["seed"])
    asked = RatingOptions(options["ties"], options["anchor"], options["prior"], options["level"], options["init"], how)
    return [
        report(name, votes, asked, options["swap"], options["control"], elo)
        for criterion in options["criterion"] or criteria(judged.judgments)
        for name, votes in _parts(criterion, votes_of(judged.judgments, criterion, options["tie_threshold"]), options)
    ]


def _parts(criterion: str, votes: Votes, options: dict[str, Any]) -> list[tuple[str, Votes]]:
    """(title, votes) of the criterion, and of its categories where they are asked for."""
    parts = votes.by_category() if options["by_category"] else {}
    return [(criterion, votes), *((f"{criterion}, {name or 'no category'}", own) for name, own in parts.items())]


def _as_json(judged: Judged, reports: list[Report]) -> str:
    said = {"judgments": len(judged.judgments), "problems": [str(problem) for problem in judged.problems]}
    said |= {"duplicates": [str(one) for one in judged.duplicates]}
    said |= {"without_prompt": judged.without_prompt, "boards": [one.to_json() for one in reports]}
    return json.dumps(said, indent=2, ensure_ascii=False)


def _in_words(judged: Judged, reports: list[Report], pairs: bool) -> str:
    lines = [f"Not understood: {problem}" for problem in judged.problems[:PROBLEMS_SHOWN]]
    if (more := len(judged.problems) - PROBLEMS_SHOWN) > 0:
        lines.append(f"… and {more} more; --json names them")
    if judged.duplicates:
        first = f"first: {judged.duplicates[0]}"
        lines.append(f"{len(judged.duplicates)} rows repeat earlier ones and are not counted ({first}).")
    if judged.without_prompt:
        lines.append(f"{judged.without_prompt} judgments name no prompt: each counts as one of its own.")
    if not reports:
        lines.append("There are no judgments in these files, so there is no board.")
    parts = ["\n".join(lines)] if lines else []
    return "\n\n\n".join(parts + [text(one, pairs) for one in reports])
