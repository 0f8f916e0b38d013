"""API of imports: upload files that become runs."""

from __future__ import annotations

from django.contrib.auth.models import User
from ninja import File, Form, UploadedFile
from ninja.errors import HttpError

from runs.http import ApiRequest, Caller, Invalid, check_owner, get_experiment, needs, router
from runs.importing.schemas import ImportedOut, NewImport
from runs.importing.source_kinds import NOTHING_READ
from runs.importing.store import ImportTarget
from runs.importing.uploads import import_uploads, upload_problem
from runs.models import Experiment
from workers.config import Problem

DEFAULT_NAME = "Imported"
LOG = "Iteration 1/1, Time: 2.50s, Mean: -10.50, Min: -20.00, Max: -1.25, Std: 3.75\n"
EXAMPLE = {"files": LOG, "experiment_name": "Imported", "path": "alpha0.0005_sigma0.001/es_seed0.log"}


@router.post(
    "/imports",
    response=ImportedOut,
    auth=needs("launch"),
    tags=["experiments"],
    summary="Import files",
    openapi_extra={"requestBody": {"content": {"multipart/form-data": {"example": EXAMPLE}}}},
)
def import_files(request: ApiRequest, files: File[list[UploadedFile]], where: Form[NewImport]) -> ImportedOut:
    """Create runs from run folders of esweb, and from files of other programs: ES and TRL logs, logs of
    es-at-scale, verl, eggroll-vllm and HyperscaleES, logs of jobs that failed, evaluation, report and trainer state
    JSON, JSON lines of ms-swift and LLaMA-Factory, TensorBoard event files, CSV and JSON lines with a step, rewards and
    costs of answers (points, summaries, NumPy arrays); single, or in a zip or tar. The response lists for each file
    what was understood and what was not, with its line, and for each file that is not read the names that would do.
    422 if nothing could be read. Needs scope launch, and an experiment of your own.

    Safe to repeat without an Idempotency-Key, because a file is identified by its content: the same file creates
    nothing again, and a file that has grown replaces what was read of it. At most 256 MB and 100 files per request. To
    undo an import, delete the runs that it created.
    """
    if problem := upload_problem(files):
        raise HttpError(413, problem)
    imported = import_uploads(files, where.path, _target(request.auth, where))
    if imported.is_empty:
        problems = [Problem("files", f"{refused.name}: {refused.reason}") for refused in imported.refused]
        raise Invalid(*problems, more=NOTHING_READ)
    return ImportedOut.from_row(imported)


def _target(caller: Caller, where: NewImport) -> ImportTarget:
    if where.experiment is not None:
        experiment = get_experiment(caller, where.experiment)
        check_owner(caller, experiment)
        return ImportTarget(caller.person, experiment.name, experiment=experiment)
    name = where.experiment_name or DEFAULT_NAME
    return ImportTarget(
        caller.person, name, where.experiment_name is None, _first_experiment_named(caller.person, name)
    )


def _first_experiment_named(person: User, name: str) -> Experiment | None:
    return Experiment.objects.filter(owner=person, name=name, deleted_at__isnull=True).order_by("pk").first()
