"""Names of readers. A user and a reader of imported labels are different readers, also if they have the same name."""

from __future__ import annotations

from collections.abc import Iterable

from runs.models import Label
from workers.analysis.labels import ADJUDICATED

USER, IMPORTED = " (user)", " (imported)"
"""Endings of names, the same in every language: files have them."""


class ReaderNames:
    """Names of the readers of a set, given (name of the user, name of an imported reader), one of which is empty."""

    def __init__(self, readers: Iterable[tuple[str, str]]) -> None:
        self.users = {user for user, _name in readers if user}

    def of(self, user: str, name: str) -> str:
        """Return the name of a reader. An imported reader is marked if a user of the same name labels here."""
        if user:
            # Files call an adjudicated label by this name.
            return user + USER if user == ADJUDICATED else user
        return name + IMPORTED if name in self.users else name

    def of_label(self, label: Label) -> str:
        """Return the name of the label's reader, or of its adjudicator."""
        return self.of(label.reader.get_username() if label.reader else "", label.reader_name)

    def imported_name(self, text: str) -> str:
        """Return the name of an imported reader whom a file calls by this text."""
        name = text.removesuffix(IMPORTED)
        return name if name in self.users else text
