"""Map names in a file to rows: contestants, criteria and raters. Missing rows are created; nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from django.utils.text import slugify

from judging.models import Contestant, Criterion, Judge, Rubric, Tournament, Voter
from judging.models import rubric_names as named
from judging.tournaments import get_rater_names
from runs.models import Run

MAX_CONTESTANTS = 200
MAX_CRITERIA = 20
NOT_NAMED = "not named"
"""Name of a judge or a criterion that a file does not name."""
NUMBERED = re.compile(r"person ([1-9][0-9]{0,8})")
UNKNOWN_RUBRIC_TEXT = "Judged elsewhere, by words that the file does not tell."


class Contestants:
    """Contestants of a tournament by name. `is_open`: a file may add new ones."""

    def __init__(self, tournament: Tournament, *, is_open: bool) -> None:
        self.tournament, self.is_open = tournament, is_open
        rows = list(tournament.contestants.order_by("place"))
        self.by_name = {contestant.name: contestant for contestant in rows}
        self._next_position = max((contestant.place for contestant in rows), default=-1) + 1

    def refusal(self, names: Iterable[str]) -> str:
        """Return why these names cannot take part, empty if they can; new names are added."""
        new = [name for name in dict.fromkeys(names) if name not in self.by_name]
        if new and not self.is_open:
            return f"is about {new[0]!r}; the contestants are {', '.join(map(repr, self.by_name))}"
        if len(self.by_name) + len(new) > MAX_CONTESTANTS:
            return f"is about {new[0]!r}: a tournament may have at most {MAX_CONTESTANTS} contestants"
        for name in new:
            self.by_name[name] = Contestant(tournament=self.tournament, name=name, place=self._next_position)
            self._next_position += 1
        return ""

    def save(self) -> None:
        """Create the new contestants, linked to the only imported run of its name that the owner may see."""
        new = [contestant for contestant in self.by_name.values() if contestant.pk is None]
        runs: dict[str, list[Run]] = {}
        visible = Run.objects.visible_to(self.tournament.owner).filter(source__isnull=False)
        if not self.tournament.is_private:
            # With a private run, users who may not see the run could not see the tournament either.
            visible = visible.filter(experiment__is_private=False)
        for run in visible.filter(name__in=[contestant.name for contestant in new]):
            runs.setdefault(run.name, []).append(run)
        for contestant in new:
            matching_runs = runs.get(contestant.name, [])
            contestant.run = matching_runs[0] if len(matching_runs) == 1 else None
        Contestant.objects.bulk_create(new)


class Criteria:
    """Rubrics of a tournament, by their names in files."""

    def __init__(self, tournament: Tournament) -> None:
        self.tournament = tournament
        rows = tournament.rubrics.select_related("criterion").order_by("pk")
        self.by_name = {name: rubric for rubric, name in named(rows).items()}

    def refusal(self, name: str) -> str:
        """Return why the criterion cannot be used, empty if it can."""
        if (name or NOT_NAMED) not in self.by_name and len(self.by_name) >= MAX_CRITERIA:
            return f"is by {name!r}: a tournament may have at most {MAX_CRITERIA} criteria"
        return ""

    def rubric(self, name: str) -> Rubric:
        """Return the rubric of this name, which is created if it is missing."""
        name = name or NOT_NAMED
        if name not in self.by_name:
            self.by_name[name] = _imported_rubric(self.tournament, name)
            self.tournament.rubrics.add(self.by_name[name])
        return self.by_name[name]


def _imported_rubric(tournament: Tournament, name: str) -> Rubric:
    """Return the rubric of the owner's imported criterion of that name, and create it if it is missing.

    Its text is unknown, so no judge uses it. It becomes public if the tournament is public.
    """
    criterion = Criterion.objects.filter(owner=tournament.owner, imported_as=name).first()
    if criterion is None:
        private = tournament.is_private
        criterion = Criterion.objects.create(
            slug=_unused_slug(name), owner=tournament.owner, imported_as=name, is_private=private
        )
    elif criterion.is_private and not tournament.is_private:
        Criterion.objects.filter(pk=criterion.pk).update(is_private=False)
    question = f"Which answer is better by “{name[:150]}”?"
    return criterion.newest() or Rubric.objects.create(
        criterion=criterion, version=1, question=question, text=UNKNOWN_RUBRIC_TEXT, created_by=tournament.owner
    )


def _unused_slug(name: str) -> str:
    """Return an unused slug for the criterion."""
    base = f"{slugify(name)[:36] or 'criterion'}-imported"
    taken = set(Criterion.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    return base if base not in taken else next(s for n in range(2, len(taken) + 3) if (s := f"{base}-{n}") not in taken)


class Judges:
    """Raters of imported judgments, by name: judges and voters. Raters that judge on this site are never among them."""

    def __init__(self, tournament: Tournament) -> None:
        self.tournament = tournament
        imported = Judge.objects.filter(owner=tournament.owner, kind=Judge.Kind.IMPORTED, retired_at=None)
        self.judges = dict(imported.values_list("name", "pk"))
        voters = list(tournament.voters.all())
        self.people = {voter.imported_name: voter.pk for voter in voters if voter.imported_name}
        self._numbers = {voter.number for voter in voters}
        rater_names = get_rater_names(tournament)
        self.names_in_use = {rater_names.voters[voter.pk] for voter in voters if not voter.imported_name}
        imported_pks = set(self.judges.values())
        self.names_in_use |= {name for pk, name in rater_names.judges.items() if pk not in imported_pks}

    def refusal(self, name: str) -> str:
        """Return why judgments of this rater are refused, empty if they are accepted."""
        return (
            f"is by {name!r}, whose verdicts are given on this site and not imported"
            if name in self.names_in_use
            else ""
        )

    def save(self, raters: Iterable[tuple[str, bool]]) -> None:
        """Create the raters that are new. raters: (name, whether the rater is human)."""
        raters = set(raters)
        self._save_voters(sorted({name or NOT_NAMED for name, is_person in raters if is_person} - self.people.keys()))
        names = {name or NOT_NAMED for name, is_person in raters if not is_person}
        if new := sorted(names - self.judges.keys()):
            Judge.objects.bulk_create(map(self._judge, new), batch_size=2000)
            rows = Judge.objects.filter(owner=self.tournament.owner, kind=Judge.Kind.IMPORTED, retired_at=None)
            self.judges |= dict(rows.filter(name__in=new).values_list("name", "pk"))
        if not self.tournament.is_private:
            judge_pks = [self.judges[name] for name in names]
            Judge.objects.filter(pk__in=judge_pks, is_private=True).update(is_private=False)

    def _judge(self, name: str) -> Judge:
        digest = sha256(f"imported\x1f{name}".encode()).hexdigest()
        owner, private = self.tournament.owner, self.tournament.is_private
        return Judge(owner=owner, kind=Judge.Kind.IMPORTED, name=name, model=name, digest=digest, is_private=private)

    def _save_voters(self, names: list[str]) -> None:
        for name in names:
            voter = Voter.objects.create(tournament=self.tournament, imported_name=name, number=self._number(name))
            self._numbers.add(voter.number)
            self.people[name] = voter.pk

    def _number(self, name: str) -> int:
        """Return the number in the name, so that exports give the same name again; else the next free number."""
        match = NUMBERED.fullmatch(name)
        number = int(match[1]) - 1 if match else -1
        return number if match and number not in self._numbers else max(self._numbers, default=-1) + 1
