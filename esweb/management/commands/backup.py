"""`manage.py backup FILE`: a site in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from esweb.backup import BackupError, create_backup
from esweb.backup.weights import WEIGHTS, Weights
from runs.management.quick_command import QuickCommand


class Command(QuickCommand):
    """Prints a line for each step."""

    help = "Back up a site to one archive: database, runs' files and keys. The site may be running."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="archive to write; it must not exist yet")
        parser.add_argument("--data", help="folder of all state (default .esweb); every command has this option")

        parser.add_argument(
            "--weights",
            choices=WEIGHTS,
            default="needed",
            help="checkpoints to pack: all; needed, those that no replay log rebuilds (default); or none",
        )

    def handle(self, *args: Any, file: Path, weights: Weights, **options: Any) -> None:
        try:
            create_backup(file.absolute(), self.stdout.write, weights)
        except BackupError as error:
            raise CommandError(str(error)) from error
