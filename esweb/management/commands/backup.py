"""`manage.py backup FILE`: all of a site in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from esweb.backup import BackupError, create_backup
from runs.management.quick_command import QuickCommand


class Command(QuickCommand):
    """Prints a line for each step."""

    help = "Back up the whole site to one archive: database, runs' files and keys. The site may be running."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="archive to write; it must not exist yet")
        parser.add_argument("--data", help="folder of all state (default .esweb); every command has this option")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            create_backup(file.absolute(), self.stdout.write)
        except BackupError as error:
            raise CommandError(str(error)) from error
