"""Whose verdicts a board is made of."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import gettext

from judging.models import Verdict

ALL, PEOPLE, JUDGES = "all", "people", "judges"
KINDS = (ALL, PEOPLE, JUDGES)
ONE = re.compile(r"judge-([1-9][0-9]{0,17})")


@dataclass(frozen=True)
class Whose:
    """Everybody's, people's, those of judges that are no people, or of one of these alone.

    `str` says it as addresses and snapshots have it: all, people, judges, judge-7.
    """

    kind: str = ALL
    judge: int | None = None

    def __str__(self) -> str:
        return self.kind if self.judge is None else f"judge-{self.judge}"

    @classmethod
    def of(cls, word: str) -> Whose:
        """What `str` said. Raises ValueError naming the choices."""
        if word in KINDS:
            return cls(word)
        if found := ONE.fullmatch(word):
            return cls(JUDGES, int(found[1]))
        raise ValueError(
            gettext("Whose verdicts is one of %(kinds)s, or judge- and a number, not %(word)s.")
            % {"kinds": ", ".join(KINDS), "word": repr(word[:40])}
        )

    def among(self, verdicts: QuerySet[Verdict]) -> QuerySet[Verdict]:
        """Theirs of these verdicts."""
        if self.judge is not None:
            return verdicts.filter(judge=self.judge)
        return verdicts if self.kind == ALL else verdicts.filter(judge__isnull=self.kind == PEOPLE)


EVERYBODY = Whose()
