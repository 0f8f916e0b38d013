"""Names of raters and of prompts in files: the same for a tournament whenever it is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from judging.models import ChosenPrompt, Judge, Tournament, Verdict


def called(chosen: Sequence[ChosenPrompt]) -> dict[int, str]:
    """primary key -> its name where it has one of its own, else enough of its digest. No name is two's."""
    names = Counter(one.prompt.name for one in chosen)
    return {
        one.pk: one.prompt.name if one.prompt.name.strip() and names[one.prompt.name] == 1 else one.prompt.word
        for one in chosen
    }


@dataclass(frozen=True)
class Speakers:
    """voters, judges: primary key -> name. No name is two's."""

    voters: dict[int, str]
    judges: dict[int, str]

    def name(self, voter: int | None, judge: int | None) -> str:
        """Of who gave a verdict: either of the two."""
        return self.judges[judge] if judge is not None else self.voters[voter or 0]


def speakers(tournament: Tournament, *, by_name: bool = False) -> Speakers:
    """Everybody who gave a verdict in it, by number ("person 3") or, for its owner, by name."""
    people = tournament.voters.select_related("user", "invitation").order_by("number")
    given = Verdict.objects.filter(comparison__tournament=tournament, judge__isnull=False)
    # First who they are, then what they are called: a join of all three goes astray where there are thousands.
    ids = set(given.order_by().values_list("judge", flat=True).distinct())
    called = dict(Judge.objects.filter(pk__in=ids).order_by("pk").values_list("pk", "name"))
    numbered = {one.pk: f"person {one.number + 1}" for one in people}
    voters = _apart({one.pk: str(one) for one in people}, "person") if by_name else numbered
    return Speakers(voters, _apart(called, "judge", taken=set(voters.values())))


def _apart(names: dict[int, str], what: str, taken: set[str] | None = None) -> dict[int, str]:
    """The same, with a number behind those that are more than one's."""
    taken = taken or set()
    said = Counter(names.values())
    return {pk: f"{one} ({what} {pk})" if said[one] > 1 or one in taken else one for pk, one in names.items()}
