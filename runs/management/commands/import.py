"""`manage.py import PATH…`: logs, evaluations, reports, trainer states, event files and scored answers become runs."""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs import importing
from runs.access import may_make
from runs.importing import Imported, ImportTarget, Outcome
from runs.models import Experiment
from workers.executors.states import State

REMARKS_SHOWN = 10
NAME_AT_MOST = 200


class Command(BaseCommand):
    """Imports files; the same ones twice make nothing twice."""

    help = "Imports logs, evaluations, trainer states, TensorBoard events, scored answers as runs. Safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file, a folder, a zip or tar")
        parser.add_argument("--experiment", default="", help="name of the experiment; default: the first path's name")
        parser.add_argument("--owner", default="", help="whose it is; default: the only person there is, or only admin")
        parser.add_argument("--json", action="store_true", help="say it as JSON")

    def handle(self, *, paths: list[Path], experiment: str, owner: str, json: bool, **_: Any) -> None:
        place = _place(_person(owner), experiment, paths)
        if missing := [str(path) for path in paths if not path.exists()]:
            raise CommandError(f"There is nothing at {', '.join(missing)}")
        with ExitStack() as keep:
            budget = importing.Budget()
            files = chain.from_iterable(importing.of_path(path, keep, budget) for path in paths)
            imported = importing.bring_in(files, place)
        self.stdout.write(_as_json(imported) if json else _in_words(imported))
        if imported.read_nothing:
            raise CommandError(importing.NOTHING_READ)


def _as_json(imported: Imported) -> str:
    return json.dumps(importing.told(imported), indent=2, ensure_ascii=False)


def _in_words(imported: Imported) -> str:
    lines = [line for outcome in imported.outcomes for line in _of_file(outcome)]
    lines += [f"{one.name}: {one.why}" for one in imported.refused]
    lines += imported.told.facts + [f"disagrees: {text}" for text in imported.told.disagreements]
    lines.append(imported.sentence)
    if imported.made:
        lines.append("To undo it, delete the runs on the experiment's page: they go into the bin.")
    return "\n".join(lines)


def _of_file(outcome: Outcome) -> list[str]:
    lines = [f"{outcome.name}: {', '.join(outcome.kinds) or 'not understood'}"]
    lines += [f"  made {run.name} ({_state(run.state)}), {run.uid}" for run in outcome.made]
    lines += [f"  went on: {run.name} ({_state(run.state)}), {run.uid}" for run in outcome.went_on]
    lines += [f"  known already: {run.name}, {run.uid}" for run in outcome.known]
    lines += [f"  {fact}" for fact in outcome.told.facts]
    lines += [f"  disagrees: {text}" for text in outcome.told.disagreements]
    lines += [f"  not understood: {remark}" for remark in outcome.told.remarks[:REMARKS_SHOWN]]
    more = len(outcome.told.remarks) - REMARKS_SHOWN + outcome.told.beyond
    return lines + ([f"  … and {more} more; --json names them"] if more > 0 else [])


def _state(state: str) -> str:
    return State(state).value.replace("_", " ")


def _person(name: str) -> User:
    people = User.objects.filter(is_active=True).order_by("username")
    found = (
        people.filter(username=name) if name else people if people.count() == 1 else people.filter(is_superuser=True)
    )
    if found.count() != 1:
        names = ", ".join(people.values_list("username", flat=True)[:20]) or "none yet (./manage.py createsuperuser)"
        raise CommandError(f"--owner must name one of {names}{f', not {name!r}' if name else ''}")
    person = found.get()
    if not may_make(person):
        raise CommandError(f"{person.get_username()} is a viewer, who makes nothing: name a member or an admin")
    return person


def _place(person: User, name: str, paths: list[Path]) -> ImportTarget:
    given = name.strip()
    if len(given) > NAME_AT_MOST or "\x00" in given:
        raise CommandError(f"--experiment must be text of at most {NAME_AT_MOST} characters")
    first = paths[0].resolve()
    usual = (first.name if first.is_dir() else first.parent.name) or "Imported"
    found = (
        Experiment.objects.filter(owner=person, name=given, deleted_at=None).order_by("pk").first() if given else None
    )
    return ImportTarget(person, given or usual[:NAME_AT_MOST], is_default=not given, experiment=found)
