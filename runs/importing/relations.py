"""Relate the imported runs of an experiment: evaluations to trainings, and means over seeds to their seeds.

Both follow from the runs that the experiment holds, in whatever order they were imported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from runs import metrics
from runs.experiments import trash
from runs.importing.readers import countdown_results, evaluations, final_results, reports, scored_responses
from runs.importing.readers.log_runs import JOB
from runs.importing.readers.reports import check_stored
from runs.importing.records import UNKNOWN_SEED, ImportReport
from runs.models import Experiment, Run
from workers.executors.states import State

EVALUATIONS = (evaluations.KIND, final_results.KIND, countdown_results.KIND, scored_responses.KIND)
NO_TRAININGS = (*EVALUATIONS, reports.KIND, JOB)


@transaction.atomic
def link_evaluations(experiment: Experiment) -> list[Run]:
    """Link each evaluation to the one training that it belongs to, and return those with a new training.

    Both have the same method and seed, and agree on all hyperparameters that both state, one at least. If several
    trainings match, none is linked.
    """
    Experiment.objects.select_for_update().get(pk=experiment.pk)
    runs = experiment.runs.filter(deleted_at=None).exclude(seed=UNKNOWN_SEED)
    evaluated = list(runs.filter(source__kind__in=EVALUATIONS).order_by("pk"))
    trainings = defaultdict[tuple[str, int], list[Run]](list)
    alike = runs.filter(seed__in={run.seed for run in evaluated}, method__in={run.method for run in evaluated})
    for run in alike.exclude(source__kind__in=NO_TRAININGS).only("experiment", "method", "seed", "config"):
        trainings[run.method, run.seed].append(run)
    linked = []
    for run in evaluated:
        belonging = [
            training
            for training in trainings[run.method, run.seed]
            if _may_belong(run.config, training.config, run.method)
        ]
        parent = belonging[0] if len(belonging) == 1 else None
        if run.parent_id != (parent and parent.pk):
            Run.objects.filter(pk=run.pk).update(parent=parent)
            run.parent = parent
            linked += [run] if parent else []
    return linked


@transaction.atomic
def replace_aggregates(experiment: Experiment, person: User, report: ImportReport) -> list[Run]:
    """Move means over seeds to the trash if their seeds are imported. Report whether both agree; return the means."""
    replaced = []
    for run in experiment.runs.filter(deleted_at=None, source__kind=reports.KIND):
        seeds = evaluated_seeds(experiment, run.method, run.config.get(run.method))
        if seeds and check_stored(metrics.latest([run])[run.pk], run.preset or run.name, seeds, report):
            replaced.append(run)
    trash.delete_runs(Run.objects.filter(pk__in=[run.pk for run in replaced]), person)
    return replaced


def evaluated_seeds(experiment: Experiment, method: str, hyperparameters: Any) -> Sequence[Mapping[str, float]]:
    """Return the last numbers of each seed that was evaluated with these hyperparameters, ordered by seed."""
    if not hyperparameters:
        return []
    runs = experiment.runs.filter(
        deleted_at=None, source__kind=evaluations.KIND, state=State.SUCCEEDED,
        config__contains={method: hyperparameters},
    )  # fmt: skip
    return list(metrics.latest(list(runs.order_by("seed"))).values())


def _may_belong(evaluation: Mapping[str, Any], training: Mapping[str, Any], method: str) -> bool:
    evaluation_section, training_section = _section(evaluation, method), _section(training, method)
    shared = evaluation_section.keys() & training_section.keys()
    models = {_model(evaluation), _model(training)} - {""}
    return (
        bool(shared) and all(evaluation_section[name] == training_section[name] for name in shared) and len(models) < 2
    )


def _section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = config.get(name)
    return section if isinstance(section, Mapping) else {}


def _model(config: Mapping[str, Any]) -> str:
    """Return the model's name without the folder or account that holds it."""
    return str(_section(config, "model").get("path", "")).rstrip("/").rpartition("/")[2]
