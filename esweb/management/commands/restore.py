"""`manage.py restore FILE`: a backup into an empty site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from esweb.backup import BackupError, restore_backup
from esweb.bootstrap.private_files import creating_private_files
from runs.management.quick_command import QuickCommand


class Command(QuickCommand):
    """Prints a line for each step."""

    help = "Restore a backup into an empty site."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="archive written by manage.py backup")
        parser.add_argument("--data", help="folder of all state (default .esweb); every command has this option")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            with creating_private_files():
                restore_backup(file.absolute(), self.stdout.write)
        except BackupError as error:
            raise CommandError(str(error)) from error
