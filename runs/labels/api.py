"""API of gold labels: draw a set, label its responses blind, read the agreement, decide, export and import."""

from __future__ import annotations

from typing import Any

from django.http import Http404, StreamingHttpResponse
from ninja import File, Form, UploadedFile
from ninja.errors import HttpError

from runs.http import (
    ApiRequest,
    Caller,
    Id,
    Int,
    Invalid,
    Limit,
    RowId,
    check_owner,
    get_experiment,
    get_runs,
    idempotent,
    needs,
    paginate,
    router,
)
from runs.labels.codebook import read_codebook
from runs.labels.commands import CannotLabel, Decision, adjudicate, create_set, save_label, undo_label
from runs.labels.csv_import import MAX_LISTED, MAX_UPLOAD_BYTES, CannotImport, import_labels
from runs.labels.draw import CannotDraw, Drawing
from runs.labels.forms import MAX_RUNS
from runs.labels.queries import read_agreement, sets_with_progress
from runs.labels.reading import ReadingOrder
from runs.labels.schemas import (
    AgreementOut,
    KindAgreementOut,
    LabelImportOut,
    LabelImportTarget,
    LabelOut,
    LabelSetOut,
    LabelSetsOut,
    NewDecision,
    NewLabel,
    NewLabelSet,
    ReaderOut,
    ReaderPairOut,
    ReadingOut,
)
from runs.labels.views import labels_response, runs_with_responses, set_name
from runs.models import Experiment, LabelItem, LabelSet, Run
from workers.analysis.labels import VERDICTS
from workers.config import Problem

NEW: dict[str, Any] = {"name": "Concise, 200", "number": 200, "steps": "last"}
LABEL: dict[str, Any] = {"n": 1, "verdict": "wrong", "kinds": ["echo"]}
DECISION: dict[str, Any] = {"verdict": "wrong", "kinds": [], "reason": "It takes back its answer."}
CSV_REPLY = {"responses": {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}}
LINE = "question,response,reader,verdict,kinds\n2+2?,4,ann,right,\n"


def _example(body: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"example": body}}}}


@router.get(
    "/experiments/{pk}/label-sets", response=LabelSetsOut, auth=needs("read"), tags=["labels"],
    summary="List label sets",
)  # fmt: skip
def list_label_sets(request: ApiRequest, pk: RowId, cursor: Id = None, limit: Limit = 50) -> LabelSetsOut:
    """List the label sets of an experiment with your progress, archived ones too."""
    experiment = get_experiment(request.auth, pk)
    rows = sets_with_progress(request.auth.person, experiment.label_sets.all())
    items, following = paginate(rows, cursor, limit)
    return LabelSetsOut(items=[LabelSetOut.from_row(row) for row in items], next=following)


@router.post(
    "/experiments/{pk}/label-sets", response={201: LabelSetOut}, auth=needs("launch"), tags=["labels"],
    summary="Draw a label set", openapi_extra=_example(NEW),
)  # fmt: skip
@idempotent
def make_label_set(request: ApiRequest, pk: RowId, new: NewLabelSet) -> tuple[int, LabelSetOut]:
    """Draw responses to label: as many of each run and step, and each pair of question and text once. The same seed
    draws the same responses. Needs scope launch, and that you may change the experiment."""
    experiment = get_experiment(request.auth, pk)
    check_owner(request.auth, experiment)
    runs = _runs(request.auth, experiment, new.runs)
    drawing = Drawing((), new.steps.strip(), new.split, new.number, new.greedy)
    try:
        row = create_set(experiment, request.auth.person, new.name, runs, drawing, new.seed, new.readers)
    except CannotDraw as error:
        raise Invalid(Problem(error.field, str(error))) from error
    return 201, LabelSetOut.from_row(sets_with_progress(request.auth.person, LabelSet.objects.filter(pk=row.pk)).get())


@router.get(
    "/label-sets/{pk}", response=AgreementOut, auth=needs("read"), tags=["labels"], summary="Read the agreement"
)
def read_label_set(request: ApiRequest, pk: RowId) -> AgreementOut:
    """Return the progress of the readers, Cohen's κ of every two of them with its interval, and the final verdicts.

    You see another reader's label of a response after enough readers, and you if you label this set, have labelled it.
    """
    agreement = read_agreement(_get_set(request.auth, pk), request.auth.person)
    return AgreementOut(
        items=agreement.total, readers=[ReaderOut.from_row(entry) for entry in agreement.progress],
        pairs=[
            ReaderPairOut.from_row(pair, kinds=[KindAgreementOut.from_row(kind) for kind in pair.kinds])
            for pair in agreement.pairs
        ],
        final={verdict: agreement.count_final(verdict) for verdict in VERDICTS}, disputed=agreement.disputed,
        decided=len(agreement.decided), withheld=agreement.withheld, revised=agreement.revised,
    )  # fmt: skip


@router.get(
    "/label-sets/{pk}/next", response=ReadingOut, auth=needs("read"), tags=["labels"], summary="Get the next response"
)
def read_next_response(request: ApiRequest, pk: RowId, after: Int = 0) -> ReadingOut:
    """Return the first response behind place `after` of your order that you have not labelled, else the first of all:
    its question and text, and nothing else. To skip a response, send its `n` as `after`."""
    order = ReadingOrder(_get_set(request.auth, pk), request.auth.person)
    if not 0 <= after <= order.total:
        raise Invalid(Problem("after", f"must be from 0 to {order.total}, not {after}"))
    n = order.next_place(after)
    reading = None if n is None else order.read(n)
    return _reading_out(order, n, reading.item if reading else None)


@router.post(
    "/label-sets/{pk}/labels", response={201: LabelOut}, auth=needs("launch"), tags=["labels"],
    summary="Label a response", openapi_extra=_example(LABEL),
)  # fmt: skip
def make_label(request: ApiRequest, pk: RowId, new: NewLabel) -> tuple[int, LabelOut]:
    """Label the response at place `n` of your order. It replaces your earlier label; the same label again changes
    nothing. Needs scope launch."""
    order = ReadingOrder(_get_set(request.auth, pk), request.auth.person)
    reading = order.read(new.n)
    if reading is None:
        raise Invalid(Problem("n", f"must be from 1 to {order.total}, not {new.n}"))
    reading.item.label_set = order.label_set
    try:
        label = save_label(reading.item, request.auth.person, Decision(new.verdict, new.kinds, new.note))
    except CannotLabel as error:
        raise _refusal(error) from error
    return 201, LabelOut.from_row(label)


@router.post(
    "/label-sets/{pk}/undo", response=ReadingOut, auth=needs("launch"), tags=["labels"], summary="Undo your last label"
)
def undo_last_label(request: ApiRequest, pk: RowId) -> ReadingOut:
    """Undo your newest label of the set, and return its response. The label that it replaced counts again. The reply is
    409 if you have none. Needs scope launch."""
    label_set = _get_set(request.auth, pk)
    try:
        item = undo_label(label_set, request.auth.person)
    except CannotLabel as error:
        raise _refusal(error) from error
    order = ReadingOrder(label_set, request.auth.person)
    return _reading_out(order, order.place_of(item.pk), item)


@router.post(
    "/label-sets/{pk}/items/{item}/decision", response={201: LabelOut}, auth=needs("launch"), tags=["labels"],
    summary="Decide on a response", openapi_extra=_example(DECISION),
)  # fmt: skip
def decide_response(request: ApiRequest, pk: RowId, item: RowId, new: NewDecision) -> tuple[int, LabelOut]:
    """Decide on a response that its readers have labelled, such as one of `disputed`. It is a label of its own. Needs
    scope launch, and that you may change the experiment."""
    label_set = _get_set(request.auth, pk)
    check_owner(request.auth, label_set.experiment)
    if item not in read_agreement(label_set, request.auth.person).readable:
        raise Http404(f"Label set {pk} has no response {item} that its readers have labelled and that you may see")
    row = label_set.items.get(pk=item)
    row.label_set = label_set
    try:
        label = adjudicate(row, request.auth.person, Decision(new.verdict, new.kinds, new.reason))
    except CannotLabel as error:
        raise _refusal(error) from error
    return 201, LabelOut.from_row(label)


@router.get(
    "/label-sets/{pk}/labels", auth=needs("read"), tags=["labels"], summary="Export labels", openapi_extra=CSV_REPLY
)
def export_labels(request: ApiRequest, pk: RowId) -> StreamingHttpResponse:
    """Return the current labels that you may see as CSV. Importing the file again changes nothing."""
    return labels_response(_get_set(request.auth, pk), request.auth.person)


@router.post(
    "/experiments/{pk}/labels", response=LabelImportOut, auth=needs("launch"), tags=["labels"],
    summary="Import labels",
    openapi_extra={"requestBody": {"content": {"multipart/form-data": {"example": {"file": LINE, "name": "Gold"}}}}},
)  # fmt: skip
def import_label_file(
    request: ApiRequest, pk: RowId, file: File[UploadedFile], target: Form[LabelImportTarget]
) -> LabelImportOut:
    """Import labels from a CSV file with the columns of the export. A line is matched by run (uid or name), step,
    split, prompt and sample, else by question and response. Readers of a file are names, never users.

    Safe to repeat. At most 16 MB and 20000 lines. The reply is 422 if no line is a label of a response of the
    experiment. Needs scope launch, and that you may change the experiment.
    """
    experiment = get_experiment(request.auth, pk)
    check_owner(request.auth, experiment)
    if (file.size or 0) > MAX_UPLOAD_BYTES:
        raise HttpError(413, f"A file of labels has at most {MAX_UPLOAD_BYTES} bytes: split it")
    try:
        result = import_labels(experiment, request.auth.person, file, target.name or set_name(file.name))  # type: ignore[arg-type]
    except CannotImport as error:
        raise HttpError(409, str(error)) from error
    lines = [*result.problems, *result.unmatched][:MAX_LISTED]
    if result.is_empty:
        raise Invalid(*(Problem("file", str(line)) for line in lines), more="nothing was imported")
    return LabelImportOut(
        label_set=result.label_set.pk if result.label_set else None, is_new=result.is_new, created=result.created,
        replaced=result.replaced, known=result.known, items=result.items, unmatched_count=len(result.unmatched),
        unmatched=list(map(str, result.unmatched[:MAX_LISTED])), invalid_count=len(result.problems),
        invalid=list(map(str, result.problems[:MAX_LISTED])),
    )  # fmt: skip


def _reading_out(order: ReadingOrder, n: int | None, item: LabelItem | None) -> ReadingOut:
    question, response = (item.question, item.response) if item else ("", "")
    return ReadingOut(
        n=n, done=order.done, total=order.total, codebook=read_codebook().version, question=question, response=response
    )


def _get_set(caller: Caller, pk: int) -> LabelSet:
    row = LabelSet.objects.visible_to(caller.person).select_related("experiment__owner").filter(pk=pk).first()
    if row is None:
        raise Http404(f"There is no label set {pk} that you may see")
    return row


def _runs(caller: Caller, experiment: Experiment, uids: list[str] | None) -> list[Run]:
    """Return the runs to draw from: those of the experiment with responses if none are named. Raise Invalid."""
    if uids is None:
        return list(runs_with_responses(experiment, caller.person)[:MAX_RUNS])
    runs = get_runs(caller, uids)
    if foreign := [run.uid for run in runs if run.experiment_id != experiment.pk]:
        raise Invalid(Problem("runs", f"must be runs of experiment {experiment.pk}, not {', '.join(foreign)}"))
    return runs


def _refusal(error: CannotLabel) -> Exception:
    return Invalid(Problem(error.field, str(error))) if error.field else HttpError(409, str(error))
