"""`./manage.py import_experiment FILE`: import the archive of an experiment, of any size."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from esweb.experiment_archives.archive_reader import BadArchive
from esweb.experiment_archives.importer import ArchiveResult, Destination, import_experiment
from runs import importing
from runs.access import may_make
from runs.importing import ImportResult, ImportTarget

MAX_PROBLEMS = 20


class Command(BaseCommand):
    """Command that imports an archive; importing it again creates nothing."""

    help = "Import the archive of an experiment with its runs, sweeps, labels and tournaments. Safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="the zip that an esweb exported")
        parser.add_argument("--name", default="", help="name of the experiment; default: the name in the archive")
        parser.add_argument("--owner", default="", help="user who owns it; default: the only user, or the only admin")
        parser.add_argument("--private", action="store_true", help="make a new experiment visible only to its owner")

    def handle(self, *, file: Path, name: str, owner: str, private: bool, **_: Any) -> None:
        def read_runs(target: ImportTarget) -> ImportResult:
            with ExitStack() as stack:
                return importing.import_runs(importing.files_from_path(file, stack, importing.Budget()), target)

        try:
            with file.open("rb") as opened:
                result = import_experiment(opened, Destination(_owner(owner), name, private), read_runs)
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}") from error
        except BadArchive as error:
            raise CommandError(str(error)) from error
        self.stdout.write(_describe(result))


def _describe(result: ArchiveResult) -> str:
    lines = [result.imported.sentence, *result.parts]
    lines += [f"{file.name}: {file.reason}" for file in result.imported.refused[:MAX_PROBLEMS]]
    lines += [f"Problem: {problem}" for problem in result.problems[:MAX_PROBLEMS]]
    if (more := len(result.problems) - MAX_PROBLEMS) > 0:
        lines.append(f"… and {more} more problems")
    state = "created" if result.is_new else "already here"
    return "\n".join([*lines, f"Experiment {result.experiment.name}, {state}: {result.experiment.get_absolute_url()}"])


def _owner(name: str) -> User:
    users = User.objects.filter(is_active=True).order_by("username")
    defaults = users if users.count() == 1 else users.filter(is_superuser=True)
    owners = [user for user in (users.filter(username=name) if name else defaults) if may_make(user)]
    if len(owners) != 1:
        names = ", ".join(users.values_list("username", flat=True)[:20]) or "none yet (./manage.py createsuperuser)"
        raise CommandError(f"--owner must name one of {names}{f', not {name!r}' if name else ''}")
    return owners[0]
