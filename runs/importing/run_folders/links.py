"""Link imported runs that name each other: evaluations and probes to the runs whose weights they read.

A uid in a config or a record is that of another site, or of this one. It is looked up among the runs that the same user
imported from folders, and nowhere else: a file must not lead to somebody's run that happens to have this uid.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from runs.importing.run_folders.assemble import KIND
from runs.kinds import kind_of
from runs.launching import default_run_name, parent_name
from runs.models import Import, ProbeResult, Run
from runs.models.experiment import config_section
from workers.config import ConfigError, RunConfig
from workers.config.resources import RUN_NAME, RUN_REFERENCE

ELSEWHERE = " (elsewhere)"
"""Follows the uid of a run that was not imported and that a run of this site has too, in the results of probes."""


@transaction.atomic
def link_named_runs(person: User) -> list[Run]:
    """Link the user's imported runs to the imported runs that they name, in whatever order they came. Return those with
    a new link."""
    runs_by_uid: dict[str, list[Run]] = defaultdict(list)
    examining: list[Run] = []
    rows = Import.objects.not_deleted().filter(kind=KIND, run__created_by=person).select_related("run__experiment")
    rows = rows.defer("run__config", "files")
    for row in rows.order_by("pk"):
        if row.foreign_uid:
            runs_by_uid[row.foreign_uid].append(row.run)
        if kind_of(row.run.method).examination is not None:
            examining.append(row.run)
    linked = []
    for run in examining:
        parent, step = _parent(run, runs_by_uid)
        if parent is not None and (run.parent_id, run.parent_step) != (parent.pk, step):
            run.parent, run.parent_step, run.name = parent, step, _name(run, parent)
            run.save(update_fields=["parent", "parent_step", "name"])
            linked.append(run)
        if run.kind.has_probe_results:
            _name_subjects(run, runs_by_uid)
    return linked


def _parent(run: Run, runs_by_uid: Mapping[str, Sequence[Run]]) -> tuple[Run | None, int | None]:
    """Return the first run that a run names, and its step if it names one; (None, None) without an imported one."""
    for name in _named(run):
        reference = RUN_REFERENCE.fullmatch(name)
        named = reference or RUN_NAME.fullmatch(name)
        parent = _among(run, runs_by_uid.get(named[1], ())) if named else None
        return parent, int(reference[2]) if reference and parent else None
    return None, None


def _name(run: Run, parent: Run) -> str:
    """Return the name of a run, with that of its parent if it is named as a site names a run that measures another."""
    try:
        config = RunConfig.from_json(run.config)
    except ConfigError:
        return run.name
    is_usual = run.name == default_run_name(config, "")
    return default_run_name(config, "", parent_name(parent, run.experiment)) if is_usual else run.name


def _named(run: Run) -> list[str]:
    """Return the names of runs in a config, which need not be valid: those of its method's setting, or its model."""
    examination = kind_of(run.method).examination
    setting: Any = config_section(run.config, run.method).get(examination.setting) if examination else ""
    names = setting if isinstance(setting, list) else [setting]
    names = names if any(names) else [config_section(run.config, "model").get("path")]
    return [name for name in names if isinstance(name, str) and name]


def _among(run: Run, candidates: Sequence[Run]) -> Run | None:
    """Return the run of these that belongs to a run: one of its own experiment before the newest of another."""
    others = [candidate for candidate in candidates if candidate.pk != run.pk]
    beside = [candidate for candidate in others if candidate.experiment_id == run.experiment_id]
    return next(iter([*reversed(beside), *reversed(others)]), None)


def _name_subjects(run: Run, runs_by_uid: Mapping[str, Sequence[Run]]) -> None:
    """Give the subjects of a probe's results the uids that the imported runs have here."""
    results = ProbeResult.objects.filter(run=run)
    for column in ("subject", "other"):
        texts = list(results.order_by().values_list(column, flat=True).distinct())
        for text in filter(None, texts):
            if (renamed := _rename(run, text, runs_by_uid)) != text:
                results.filter(**{column: text}).update(**{column: renamed})


def _rename(run: Run, text: str, runs_by_uid: Mapping[str, Sequence[Run]]) -> str:
    name, at, step = text.rpartition("@")
    uid = name.removesuffix(ELSEWHERE)
    if not at or not RUN_NAME.fullmatch(f"run:{uid}"):
        return text
    imported_run = _among(run, runs_by_uid.get(uid, ()))
    if imported_run is not None:
        return f"{imported_run.uid}@{step}"
    is_own = any(uid == imported.uid for runs in runs_by_uid.values() for imported in runs)
    is_taken = not is_own and Run.objects.filter(uid=uid).exists()
    return f"{uid}{ELSEWHERE}@{step}" if is_taken else text
