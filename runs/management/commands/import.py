"""`manage.py import PATH…`: import run folders, logs, evaluations, reports, trainer states, event files and scored
responses as runs."""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from runs import importing
from runs.access import may_make
from runs.importing import ImportedOut, ImportResult, ImportTarget, Outcome
from runs.management.quick_command import QuickCommand
from runs.models import Experiment
from workers.executors.states import State

MAX_REMARKS = 10
MAX_NAME_LENGTH = 200


class Command(QuickCommand):
    """Command that imports files; importing the same files again creates nothing."""

    help = "Import run folders, logs, evaluations, TensorBoard events and scored responses as runs. Safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file, a folder, a zip or tar")
        parser.add_argument("--experiment", default="", help="name of the experiment; default: the first path's name")
        parser.add_argument(
            "--owner", default="", help="owner of the experiment; default: the only user, or the only admin"
        )
        parser.add_argument(
            "--follow",
            action="store_true",
            help="import again while the paths grow, until their attempts have ended",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *, paths: list[Path], experiment: str, owner: str, json: bool, follow: bool, **_: Any) -> None:
        target = _target(_owner(owner), experiment, paths)
        if missing := [str(path) for path in paths if not path.exists()]:
            raise CommandError(f"Not found: {', '.join(missing)}")
        looks = importing.follow_paths(paths) if follow else [True]
        imported = None
        for has_changed in looks:
            if has_changed:
                imported = _import(paths, target)
                self.stdout.write(_as_json(imported) if json else _describe(imported))
        if imported is None or imported.is_empty:
            raise CommandError(importing.NOTHING_READ)


def _import(paths: list[Path], target: ImportTarget) -> ImportResult:
    with ExitStack() as stack:
        budget = importing.Budget()
        files = chain.from_iterable(importing.files_from_path(path, stack, budget) for path in paths)
        return importing.import_runs(files, target)


def _as_json(imported: ImportResult) -> str:
    return json.dumps(ImportedOut.from_row(imported).model_dump(), indent=2, ensure_ascii=False)


def _describe(imported: ImportResult) -> str:
    lines = [line for outcome in imported.outcomes for line in _describe_file(outcome)]
    lines += [f"{refusal.name}: {refusal.reason}" for refusal in imported.refused]
    lines += imported.report.facts + [f"disagrees: {text}" for text in imported.report.disagreements]
    lines.append(imported.sentence)
    if imported.new_runs:
        lines.append("To undo it, delete the runs on the experiment's page; they move to the trash.")
    return "\n".join(lines)


def _describe_file(outcome: Outcome) -> list[str]:
    lines = [f"{outcome.name}: {', '.join(outcome.kinds) or 'not understood'}"]
    lines += [f"  created {run.name} ({_state(run.state)}), {run.uid}" for run in outcome.new_runs]
    lines += [f"  continued: {run.name} ({_state(run.state)}), {run.uid}" for run in outcome.continued_runs]
    lines += [f"  already imported: {run.name}, {run.uid}" for run in outcome.known_runs]
    lines += [f"  {fact}" for fact in outcome.report.facts]
    lines += [f"  disagrees: {text}" for text in outcome.report.disagreements]
    lines += [f"  not understood: {remark}" for remark in outcome.report.remarks[:MAX_REMARKS]]
    more = len(outcome.report.remarks) - MAX_REMARKS + outcome.report.omitted_remarks
    lines += [f"  … and {more} more; --json lists them"] if more > 0 else []
    lines += [f"  not read: {cell}" for cell in outcome.report.refused_cells]
    omitted = outcome.report.omitted_cells
    return lines + ([f"  not read: {omitted} more cell{'' if omitted == 1 else 's'}"] if omitted else [])


def _state(state: str) -> str:
    return State(state).value.replace("_", " ")


def _owner(name: str) -> User:
    users = User.objects.filter(is_active=True).order_by("username")
    owners = users.filter(username=name) if name else users if users.count() == 1 else users.filter(is_superuser=True)
    if owners.count() != 1:
        names = ", ".join(users.values_list("username", flat=True)[:20]) or "none yet (./manage.py createsuperuser)"
        raise CommandError(f"--owner must name one of {names}{f', not {name!r}' if name else ''}")
    owner = owners.get()
    if not may_make(owner):
        raise CommandError(f"{owner.get_username()} is a viewer and cannot import; name a member or an admin")
    return owner


def _target(person: User, name: str, paths: list[Path]) -> ImportTarget:
    stripped = name.strip()
    if len(stripped) > MAX_NAME_LENGTH or "\x00" in stripped:
        raise CommandError(f"--experiment must be text of at most {MAX_NAME_LENGTH} characters")
    first = paths[0].resolve()
    default_name = (first.name if first.is_dir() else first.parent.name) or "Imported"
    experiment = (
        Experiment.objects.filter(owner=person, name=stripped, deleted_at=None).order_by("pk").first()
        if stripped
        else None
    )
    return ImportTarget(
        person, stripped or default_name[:MAX_NAME_LENGTH], is_default=not stripped, experiment=experiment
    )
