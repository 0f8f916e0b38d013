"""`manage.py categories FILE…`: add the categories of a data set to its prompts that are stored already."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.ingest import add_categories
from workers.tasks.safety.prompt_file import BadPrompts, read_prompts


class Command(BaseCommand):
    """Command for responses that were imported from files without categories."""

    help = "Set the categories of stored prompts from the JSONL of their data set. Safe to repeat."

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
            matched, updated = add_categories({row.prompt: row.categories for row in rows})
            self.stdout.write(
                f"{file}: of its {len(rows)} prompts {sum(bool(row.categories) for row in rows)} have categories; "
                f"{matched} stored prompts have these texts, and {updated} of them were updated."
            )
        self.stdout.write("Existing tournaments keep their categories.")
