"""Importing files over the API."""

from __future__ import annotations

from contextlib import ExitStack

from django.contrib.auth.models import User
from ninja import File, Form, UploadedFile
from ninja.errors import HttpError

from runs.http import ApiRequest, Caller, Invalid, check_owner, needs, router, the_experiment
from runs.importing.detect_format import NOTHING_READ
from runs.importing.run_import import bring_in, told
from runs.importing.schemas import ImportedOut, NewImport
from runs.importing.store import ImportTarget
from runs.importing.uploads import of_uploads, too_much
from runs.models import Experiment
from workers.config import Problem

USUAL = "Imported"
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
    """Makes runs of what other programs wrote: ES and TRL logs, evaluation, report and trainer state JSON, TensorBoard
    event files, CSV and JSON lines with a step, rewards and costs of answers (points, summaries, NumPy arrays), logs of
    jobs that failed; single, or in a zip or tar. The answer says of each file what was understood and, with its line,
    what was not. 422 if nothing could be read. Needs scope launch, and an experiment of your own.

    Safe to repeat without an Idempotency-Key, because a file's content is one: the same file makes nothing again, one
    that has gone on takes the place of what was read of it. At most 256 MB and 100 files at once. To undo it, delete
    the runs that were made.
    """
    if why := too_much(files):
        raise HttpError(413, why)
    with ExitStack() as keep:
        found = of_uploads(files, where.path, keep)
        imported = bring_in(found, _place(request.auth, where))
    if imported.read_nothing:
        problems = [Problem("files", f"{refused.name}: {refused.why}") for refused in imported.refused]
        raise Invalid(*problems, more=NOTHING_READ)
    return ImportedOut(**told(imported))


def _place(caller: Caller, where: NewImport) -> ImportTarget:
    if where.experiment is not None:
        experiment = the_experiment(caller, where.experiment)
        check_owner(caller, experiment)
        return ImportTarget(caller.person, experiment.name, experiment=experiment)
    name = where.experiment_name or USUAL
    return ImportTarget(caller.person, name, where.experiment_name is None, _of_that_name(caller.person, name))


def _of_that_name(person: User, name: str) -> Experiment | None:
    return Experiment.objects.filter(owner=person, name=name, deleted_at__isnull=True).order_by("pk").first()
