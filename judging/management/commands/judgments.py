"""`./manage.py judgments`: import files of judgments as a tournament, and export a tournament's verdicts to a file."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging import exchange
from judging.exchange import ExportOptions, ExportRefused, File, ImportResult, ImportTarget
from judging.models import Tournament
from runs.access import may_make

MAX_PROBLEMS = 10
STDOUT = Path("-")


class Command(BaseCommand):
    """Command that imports and exports judgments."""

    help = "Import files of judgments as a tournament, or export a tournament's judgments. Safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        _import(
            verbs.add_parser(
                "import", help="import files in the published format, FastChat's or MT-bench's as a tournament"
            )
        )
        _export(verbs.add_parser("export", help="export a tournament's judgments in a standard format"))

    def handle(self, *, verb: str, **options: Any) -> None:
        getattr(self, f"_{verb}")(options)

    def _import(self, options: dict[str, Any]) -> None:
        owner = _owner(options["owner"])
        into = None if options["into"] is None else _tournament(options["into"])
        target = ImportTarget(into.owner if into else owner, options["name"], into, options["private"])
        with ExitStack() as stack:
            result = exchange.import_judgment_files([_file(path, stack) for path in options["files"]], target)
        self.stdout.write(_as_json(result) if options["json"] else _describe(result))
        if result.is_empty:
            raise CommandError(f"Nothing was imported. {exchange.FORMATS_READ}")

    def _export(self, options: dict[str, Any]) -> None:
        tournament = _tournament(options["tournament"])
        export_options = ExportOptions(options["form"], options["all"], options["names"])
        if options["transcript"]:
            lines = exchange.transcript_lines(tournament)
        else:
            try:
                exchange.check_export(tournament, export_options)
            except ExportRefused as error:
                raise CommandError(str(error)) from error
            lines = exchange.export_lines(tournament, export_options)
        out: Path = options["out"]
        with ExitStack() as stack:
            file = self.stdout if out == STDOUT else stack.enter_context(out.open("w", encoding="utf-8", newline=""))
            for line in lines:
                file.write(line.removesuffix("\n") if file is self.stdout else line)


def _import(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="JSON lines, or a JSON list; also .gz, UTF-16"
    )
    parser.add_argument("--name", default="", help="name of the tournament; default: the name of the first file")
    parser.add_argument("--into", type=int, help="number of an existing tournament")
    parser.add_argument("--owner", default="", help="user who owns it; default: the only user, or the only admin")
    parser.add_argument("--private", action="store_true", help="make it visible only to the owner")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("tournament", type=int, help="number of the tournament, as in its address")
    parser.add_argument("--form", choices=list(exchange.FORMS), default="fastchat")
    parser.add_argument(
        "--transcript", action="store_true", help="export the judges' requests and replies instead, without keys"
    )
    parser.add_argument("--all", action="store_true", help="include verdicts that count on no leaderboard")
    parser.add_argument("--names", action="store_true", help="name voters, instead of numbering them")
    parser.add_argument("--out", type=Path, default=STDOUT, metavar="FILE", help="default: the terminal")


def _file(path: Path, stack: ExitStack) -> File:
    try:
        if path.stat().st_size > exchange.MAX_FILE_BYTES:
            raise CommandError(f"{path} is larger than {exchange.MAX_FILE_BYTES // exchange.MB} MB")
        return File(path.name, stack.enter_context(path.open("rb")))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error


def _tournament(pk: int) -> Tournament:
    tournament = Tournament.objects.filter(pk=pk, deleted_at=None).select_related("owner").first()
    if tournament is None:
        raise CommandError(f"There is no tournament {pk}.")
    return tournament


def _owner(name: str) -> User:
    users = User.objects.filter(is_active=True).order_by("username")
    defaults = users if users.count() == 1 else users.filter(is_superuser=True)
    owners = [user for user in (users.filter(username=name) if name else defaults) if may_make(user)]
    if len(owners) != 1:
        names = ", ".join(users.values_list("username", flat=True)[:20]) or "none yet (./manage.py createsuperuser)"
        raise CommandError(f"--owner must name one of {names}{f', not {name!r}' if name else ''}")
    return owners[0]


def _as_json(result: ImportResult) -> str:
    tournament_pk = None if result.tournament is None else result.tournament.pk
    document = {"said": result.sentence, "tournament": tournament_pk, "files": [asdict(file) for file in result.files]}
    return json.dumps(document, indent=2, ensure_ascii=False)


def _describe(result: ImportResult) -> str:
    lines = []
    for file in result.files:
        lines += [f"Invalid: {problem}" for problem in file.problems[:MAX_PROBLEMS]]
        if (more := file.not_read - MAX_PROBLEMS) > 0:
            lines.append(f"… and {more} more of {file.name}; --json lists the first {len(file.problems)}")
        lines += [f"Duplicate: {row}" for row in file.repeated[:MAX_PROBLEMS]]
        if (more := file.duplicates - MAX_PROBLEMS) > 0:
            lines.append(f"… and {more} more duplicates in {file.name}; --json lists the first {len(file.repeated)}")
        if file.alone:
            lines.append(f"{file.alone} judgments of {file.name} name no prompt: each has a prompt of its own.")
    lines.append(result.sentence)
    if result.tournament is not None:
        lines.append(f"Tournament {result.tournament.pk}: {result.tournament.get_absolute_url()}")
    return "\n".join(lines)
