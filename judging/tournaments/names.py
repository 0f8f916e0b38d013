"""Names of raters and of prompts in files: the same for a tournament whenever it is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from judging.models import ChosenPrompt, Judge, Tournament, Verdict


def get_prompt_names(chosen_prompts: Sequence[ChosenPrompt]) -> dict[int, str]:
    """Map each chosen prompt's primary key to a unique name: its own if no other has it, else part of its digest."""
    names = Counter(prompt.prompt.name for prompt in chosen_prompts)
    return {
        prompt.pk: prompt.prompt.name
        if prompt.prompt.name.strip() and names[prompt.prompt.name] == 1
        else prompt.prompt.word
        for prompt in chosen_prompts
    }


@dataclass(frozen=True)
class RaterNames:
    """Unique names of raters. voters, judges: primary key -> name."""

    voters: dict[int, str]
    judges: dict[int, str]

    def name(self, voter: int | None, judge: int | None) -> str:
        """Return the name of a verdict's rater; one of the two arguments is None."""
        return self.judges[judge] if judge is not None else self.voters[voter or 0]


def get_rater_names(tournament: Tournament, *, by_name: bool = False) -> RaterNames:
    """Return the names of all raters of a tournament; voters by number ("person 3") or, with `by_name`, by name.

    Only the owner may see voters' own names.
    """
    voters_in_order = tournament.voters.select_related("user", "invitation").order_by("number")
    verdicts = Verdict.objects.filter(comparison__tournament=tournament, judge__isnull=False)
    # The ids are selected before the names: the database plans a join of all three badly with thousands of judges.
    ids = set(verdicts.order_by().values_list("judge", flat=True).distinct())
    judge_names = dict(Judge.objects.filter(pk__in=ids).order_by("pk").values_list("pk", "name"))
    numbered = {voter.pk: f"person {voter.number + 1}" for voter in voters_in_order}
    voters = _make_unique({voter.pk: str(voter) for voter in voters_in_order}, "person") if by_name else numbered
    return RaterNames(voters, _make_unique(judge_names, "judge", taken=set(voters.values())))


def _make_unique(names: dict[int, str], noun: str, taken: set[str] | None = None) -> dict[int, str]:
    """Return the names, with a number after each name that is not unique."""
    taken = taken or set()
    counts = Counter(names.values())
    return {pk: f"{name} ({noun} {pk})" if counts[name] > 1 or name in taken else name for pk, name in names.items()}
