"""Names of a file -> rows: contestants, criteria, and who judged. What only a file names is made, nothing guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from django.utils.text import slugify

from judging.models import Contestant, Criterion, Judge, Rubric, Tournament, Voter
from judging.models import rubric_names as named
from judging.tournaments import speakers
from runs.models import Run

CONTESTANTS_AT_MOST = 200
CRITERIA_AT_MOST = 20
NOT_NAMED = "not named"
"""A judge, or a criterion, of whom a file says nothing."""
NUMBERED = re.compile(r"person ([1-9][0-9]{0,8})")
UNTOLD = "Judged elsewhere, by words that the file does not tell."


class Contestants:
    """Those of a tournament by name. `is_open`: a file may bring new ones."""

    def __init__(self, tournament: Tournament, *, is_open: bool) -> None:
        self.tournament, self.is_open = tournament, is_open
        rows = list(tournament.contestants.order_by("place"))
        self.of = {one.name: one for one in rows}
        self._next = max((one.place for one in rows), default=-1) + 1

    def why_not(self, names: Iterable[str]) -> str:
        """Why these cannot take part; empty where they can."""
        new = [name for name in dict.fromkeys(names) if name not in self.of]
        if new and not self.is_open:
            return f"is about {new[0]!r}; the contestants are {', '.join(map(repr, self.of))}"
        if len(self.of) + len(new) > CONTESTANTS_AT_MOST:
            return f"is about {new[0]!r}: one more than the {CONTESTANTS_AT_MOST} contestants that a tournament takes"
        for name in new:
            self.of[name] = Contestant(tournament=self.tournament, name=name, place=self._next)
            self._next += 1
        return ""

    def keep(self) -> None:
        """Makes the new ones; of the imported run of its name that the owner may see, where there is just one."""
        new = [one for one in self.of.values() if one.pk is None]
        runs: dict[str, list[Run]] = {}
        visible = Run.objects.visible_to(self.tournament.owner).filter(source__isnull=False)
        if not self.tournament.is_private:
            # Else whoever may not see the run would not see the tournament either.
            visible = visible.filter(experiment__is_private=False)
        for run in visible.filter(name__in=[one.name for one in new]):
            runs.setdefault(run.name, []).append(run)
        for one in new:
            found = runs.get(one.name, [])
            one.run = found[0] if len(found) == 1 else None
        Contestant.objects.bulk_create(new)


class Criteria:
    """A tournament's rubrics, by what files call them."""

    def __init__(self, tournament: Tournament) -> None:
        self.tournament = tournament
        rows = tournament.rubrics.select_related("criterion").order_by("pk")
        self.of = {name: rubric for rubric, name in named(rows).items()}

    def why_not(self, name: str) -> str:
        """Why nothing can be judged by it; empty where it can."""
        if (name or NOT_NAMED) not in self.of and len(self.of) >= CRITERIA_AT_MOST:
            return f"is by {name!r}: one more than the {CRITERIA_AT_MOST} criteria that a tournament takes"
        return ""

    def rubric(self, name: str) -> Rubric:
        """By which a judgment was given."""
        name = name or NOT_NAMED
        if name not in self.of:
            self.of[name] = _untold(self.tournament, name)
            self.tournament.rubrics.add(self.of[name])
        return self.of[name]


def _untold(tournament: Tournament, name: str) -> Rubric:
    """The owner's criterion of that name whose words nobody told; it is nobody's who judges by words."""
    criterion = Criterion.objects.filter(owner=tournament.owner, imported_as=name).first()
    if criterion is None:
        private = tournament.is_private
        criterion = Criterion.objects.create(
            slug=_slug(name), owner=tournament.owner, imported_as=name, is_private=private
        )
    elif criterion.is_private and not tournament.is_private:
        Criterion.objects.filter(pk=criterion.pk).update(is_private=False)
    question = f"Which answer is better by “{name[:150]}”?"
    return criterion.newest() or Rubric.objects.create(
        criterion=criterion, version=1, question=question, text=UNTOLD, created_by=tournament.owner
    )


def _slug(name: str) -> str:
    """One that nobody has."""
    base = f"{slugify(name)[:36] or 'criterion'}-imported"
    taken = set(Criterion.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    return base if base not in taken else next(s for n in range(2, len(taken) + 3) if (s := f"{base}-{n}") not in taken)


class Judges:
    """Who gave the judgments of files: judges and people, by name. Those who judge here are never one of them."""

    def __init__(self, tournament: Tournament) -> None:
        self.tournament = tournament
        imported = Judge.objects.filter(owner=tournament.owner, kind=Judge.Kind.IMPORTED, retired_at=None)
        self.judges = dict(imported.values_list("name", "pk"))
        people = list(tournament.voters.all())
        self.people = {one.imported_name: one.pk for one in people if one.imported_name}
        self._numbers = {one.number for one in people}
        here = speakers(tournament)
        self.own = {here.voters[one.pk] for one in people if not one.imported_name}
        theirs = set(self.judges.values())
        self.own |= {name for pk, name in here.judges.items() if pk not in theirs}

    def why_not(self, name: str) -> str:
        """Why a judgment of theirs is not taken; empty where it is."""
        return f"is by {name!r}, whose verdicts are given here and not taken from files" if name in self.own else ""

    def keep(self, said: Iterable[tuple[str, bool]]) -> None:
        """Makes those who are new. said: (name, whether it is a person)."""
        said = set(said)
        self._keep_people(sorted({name or NOT_NAMED for name, person in said if person} - self.people.keys()))
        names = {name or NOT_NAMED for name, person in said if not person}
        if new := sorted(names - self.judges.keys()):
            Judge.objects.bulk_create(map(self._judge, new), batch_size=2000)
            rows = Judge.objects.filter(owner=self.tournament.owner, kind=Judge.Kind.IMPORTED, retired_at=None)
            self.judges |= dict(rows.filter(name__in=new).values_list("name", "pk"))
        if not self.tournament.is_private:
            known = [self.judges[name] for name in names]
            Judge.objects.filter(pk__in=known, is_private=True).update(is_private=False)

    def _judge(self, name: str) -> Judge:
        digest = sha256(f"imported\x1f{name}".encode()).hexdigest()
        owner, private = self.tournament.owner, self.tournament.is_private
        return Judge(owner=owner, kind=Judge.Kind.IMPORTED, name=name, model=name, digest=digest, is_private=private)

    def _keep_people(self, names: list[str]) -> None:
        for name in names:
            made = Voter.objects.create(tournament=self.tournament, imported_name=name, number=self._number(name))
            self._numbers.add(made.number)
            self.people[name] = made.pk

    def _number(self, name: str) -> int:
        """The one that the name says, so that it is called the same when it is written again; or the next."""
        said = NUMBERED.fullmatch(name)
        number = int(said[1]) - 1 if said else -1
        return number if said and number not in self._numbers else max(self._numbers, default=-1) + 1
