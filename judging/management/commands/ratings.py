"""`manage.py ratings FILE…`: compute a board from files of judgments, in the terminal or as JSON. Nothing is stored."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.boards.report import Report, build_report, report_text
from judging.boards.settings import SETTINGS, BoardSettings
from judging.boards.win_rates import add_win_rates
from judging.stats.ratings import Resampling
from judging.stats.votes import (
    TIE_THRESHOLD,
    JudgmentFiles,
    Votes,
    list_criteria,
    merge_files,
    read_judgments,
    votes_by_criterion,
)

MAX_PROBLEMS = 10
MAX_FILE_BYTES = 1 << 30


class Command(BaseCommand):
    """Command that rates the contestants of judgments."""

    help = "Rate models by judgments in the published format or FastChat's, with intervals."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="JSON lines, or a JSON list")
        parser.add_argument("--criterion", action="append", default=[], help="use only this criterion; may be repeated")
        parser.add_argument("--by-category", action="store_true", help="add a leaderboard for each category")
        parser.add_argument("--pairs", action="store_true", help="add each pair's result, with n")
        for name, setting in SETTINGS.items():
            if setting.option:
                parser.add_argument(
                    setting.option, dest=name, type=type(setting.default), default=setting.default,
                    choices=list(setting.choices) or None, help=setting.help or setting.title,
                )  # fmt: skip
        parser.add_argument(
            "--tie-threshold", type=float, default=TIE_THRESHOLD, help="largest difference of scores that is a tie"
        )
        parser.add_argument(
            "--control", action="append", default=[], help="control for position or length; may be repeated"
        )
        parser.add_argument("--resamples", type=int, default=1000)
        parser.add_argument("--seed", type=int, default=0, help="seed of the resamples")
        parser.add_argument("--online-elo", action="store_true", help="add online Elo, as published")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *, files: list[Path], **options: Any) -> None:
        judged = merge_files([_file(path) for path in files])
        try:
            reports = _reports(judged, options)
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            _as_json(judged, reports) if options["json"] else _describe(judged, reports, options["pairs"])
        )


def _file(path: Path) -> JudgmentFiles:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise CommandError(f"{path} is larger than {MAX_FILE_BYTES >> 30} GiB")
        return read_judgments(path.read_text(encoding="utf-8"), path.name)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def _reports(judged: JudgmentFiles, options: dict[str, Any]) -> list[Report]:
    settings = BoardSettings(**{name: options[name] for name, setting in SETTINGS.items() if setting.option})
    resampling = Resampling(settings.unit, options["resamples"], options["seed"])
    rating_options = replace(settings.rating_options, resampling=resampling)
    elo = settings.elo if options["online_elo"] else None
    return [
        build_report(name, votes, rating_options, settings.swap, options["control"], elo)
        for criterion in options["criterion"] or list_criteria(judged.judgments)
        for name, votes in _parts(
            criterion, votes_by_criterion(judged.judgments, criterion, options["tie_threshold"]), options
        )
    ]


def _parts(criterion: str, votes: Votes, options: dict[str, Any]) -> list[tuple[str, Votes]]:
    """Return (title, votes) of the criterion, and of its categories if the options ask for them."""
    parts = votes.by_category() if options["by_category"] else {}
    return [(criterion, votes), *((f"{criterion}, {name or 'no category'}", own) for name, own in parts.items())]


def _as_json(judged: JudgmentFiles, reports: list[Report]) -> str:
    document = {"judgments": len(judged.judgments), "problems": [str(problem) for problem in judged.problems]}
    document |= {"duplicates": [str(duplicate) for duplicate in judged.duplicates]}
    boards = [add_win_rates(report.to_json()) for report in reports]
    document |= {"without_prompt": judged.without_prompt, "boards": boards}
    return json.dumps(document, indent=2, ensure_ascii=False)


def _describe(judged: JudgmentFiles, reports: list[Report], pairs: bool) -> str:
    lines = [f"Invalid: {problem}" for problem in judged.problems[:MAX_PROBLEMS]]
    if (more := len(judged.problems) - MAX_PROBLEMS) > 0:
        lines.append(f"… and {more} more; --json lists them")
    if judged.duplicates:
        first = f"first: {judged.duplicates[0]}"
        lines.append(f"{len(judged.duplicates)} rows repeat earlier ones and are not counted ({first}).")
    if judged.without_prompt:
        lines.append(f"{judged.without_prompt} judgments name no prompt: each has a prompt of its own.")
    if not reports:
        lines.append("These files contain no judgments, so there is no leaderboard.")
    parts = ["\n".join(lines)] if lines else []
    return "\n\n\n".join(parts + [report_text(board, pairs) for board in reports])
