"""`manage.py categories FILE…`: what a data set says its prompts are about, learnt by those that are here already."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.ingest import teach
from workers.tasks.safety.prompt_file import BadPrompts, read_prompts


class Command(BaseCommand):
    """For answers that were imported from files which name no category."""

    help = "Names the categories of prompts that are here, from the JSONL of their data set. Safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "files", nargs="+", metavar="FILE",
            help="a prompt on each line, with PKU-SafeRLHF's harms, a category, or a source",
        )  # fmt: skip

    def handle(self, *, files: list[str], **_: Any) -> None:
        for file in files:
            try:
                rows = read_prompts(file)
            except BadPrompts as error:
                raise CommandError(str(error)) from error
            known, learnt = teach({row.prompt: row.categories for row in rows})
            self.stdout.write(
                f"{file}: of its {len(rows)} prompts {sum(bool(row.categories) for row in rows)} have categories; "
                f"{known} prompts here have their texts, and {learnt} of these learnt something."
            )
        self.stdout.write("Tournaments that were made before keep what they had.")
