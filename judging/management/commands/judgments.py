"""`./manage.py judgments`: files of judgments become a tournament, and a tournament's verdicts become a file."""

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
from judging.exchange import CannotWrite, ExportOptions, File, ImportResult, ImportTarget
from judging.models import Tournament
from runs.access import may_make

PROBLEMS_SHOWN = 10
OUT = Path("-")


class Command(BaseCommand):
    """Brings judgments in, and writes them."""

    help = "Judgments: import files of them as a tournament, export a tournament's. Safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        _import(
            verbs.add_parser(
                "import", help="files in the published format, FastChat's or MT-bench's become a tournament"
            )
        )
        _export(verbs.add_parser("export", help="a tournament's judgments, in a format that others read"))

    def handle(self, *, verb: str, **options: Any) -> None:
        getattr(self, f"_{verb}")(options)

    def _import(self, options: dict[str, Any]) -> None:
        owner = _person(options["owner"])
        into = None if options["into"] is None else _tournament(options["into"])
        place = ImportTarget(into.owner if into else owner, options["name"], into, options["private"])
        with ExitStack() as keep:
            brought = exchange.bring_in([_file(path, keep) for path in options["files"]], place)
        self.stdout.write(_as_json(brought) if options["json"] else _in_words(brought))
        if brought.is_empty:
            raise CommandError(f"Nothing was imported. {exchange.FORMATS_READ}")

    def _export(self, options: dict[str, Any]) -> None:
        tournament = _tournament(options["tournament"])
        asked = ExportOptions(options["form"], options["all"], options["names"])
        if options["transcript"]:
            lines = exchange.transcript_lines(tournament)
        else:
            try:
                exchange.check(tournament, asked)
            except CannotWrite as error:
                raise CommandError(str(error)) from error
            lines = exchange.lines(tournament, asked)
        out: Path = options["out"]
        with ExitStack() as keep:
            file = self.stdout if out == OUT else keep.enter_context(out.open("w", encoding="utf-8", newline=""))
            for line in lines:
                file.write(line.removesuffix("\n") if file is self.stdout else line)


def _import(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="JSON lines, or a JSON list; also .gz, UTF-16"
    )
    parser.add_argument("--name", default="", help="of the tournament; default: the first file's")
    parser.add_argument("--into", type=int, help="number of a tournament that is there")
    parser.add_argument("--owner", default="", help="whose it is; default: the only person there is, or only admin")
    parser.add_argument("--private", action="store_true", help="only the owner may see it")
    parser.add_argument("--json", action="store_true", help="say it as JSON")


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("tournament", type=int, help="its number, as in its address")
    parser.add_argument("--form", choices=list(exchange.FORMS), default="fastchat")
    parser.add_argument("--transcript", action="store_true", help="what judges were sent and said instead, no keys")
    parser.add_argument("--all", action="store_true", help="verdicts too that no board lets in")
    parser.add_argument("--names", action="store_true", help="people by their names, not by number")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE", help="default: the terminal")


def _file(path: Path, keep: ExitStack) -> File:
    try:
        if path.stat().st_size > exchange.FILE_AT_MOST:
            raise CommandError(f"{path} is larger than {exchange.FILE_AT_MOST // exchange.MB} MB")
        return File(path.name, keep.enter_context(path.open("rb")))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error


def _tournament(pk: int) -> Tournament:
    found = Tournament.objects.filter(pk=pk, deleted_at=None).select_related("owner").first()
    if found is None:
        raise CommandError(f"There is no tournament {pk}.")
    return found


def _person(name: str) -> User:
    people = User.objects.filter(is_active=True).order_by("username")
    alone = people if people.count() == 1 else people.filter(is_superuser=True)
    found = [one for one in (people.filter(username=name) if name else alone) if may_make(one)]
    if len(found) != 1:
        names = ", ".join(people.values_list("username", flat=True)[:20]) or "none yet (./manage.py createsuperuser)"
        raise CommandError(f"--owner must name one of {names}{f', not {name!r}' if name else ''}")
    return found[0]


def _as_json(brought: ImportResult) -> str:
    where = None if brought.tournament is None else brought.tournament.pk
    said = {"said": brought.sentence, "tournament": where, "files": [asdict(one) for one in brought.files]}
    return json.dumps(said, indent=2, ensure_ascii=False)


def _in_words(brought: ImportResult) -> str:
    lines = []
    for one in brought.files:
        lines += [f"Not understood: {problem}" for problem in one.problems[:PROBLEMS_SHOWN]]
        if (more := one.not_read - PROBLEMS_SHOWN) > 0:
            lines.append(f"… and {more} more of {one.name}; --json names the first {len(one.problems)}")
        lines += [f"Duplicate: {row}" for row in one.repeated[:PROBLEMS_SHOWN]]
        if (more := one.duplicates - PROBLEMS_SHOWN) > 0:
            lines.append(f"… and {more} more duplicates in {one.name}; --json names the first {len(one.repeated)}")
        if one.alone:
            lines.append(f"{one.alone} judgments of {one.name} name no prompt: each counts as one of its own.")
    lines.append(brought.sentence)
    if brought.tournament is not None:
        lines.append(f"Tournament {brought.tournament.pk}: {brought.tournament.get_absolute_url()}")
    return "\n".join(lines)
