"""Pages of label sets: the lists, a new set, the results of a set, its file, and an import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.text import slugify
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs.access import may_change, may_make
from runs.http import PaletteEntry, SignedIn, UnknownChoice, find_rows, page_of, require_choice, visible_experiment
from runs.labels.commands import archive_set
from runs.labels.csv_import import MAX_LISTED, MAX_UPLOAD_BYTES, CannotImport, ImportResult, import_labels
from runs.labels.forms import MAX_RUNS, ImportForm, NewSetForm
from runs.labels.queries import labels_with_places, read_agreement, sets_with_progress
from runs.labels.results import (
    DISPUTED,
    SHOWN,
    agreement_table,
    items_of,
    kinds_table,
    labelled_items,
    readers_table,
    verdict_table,
)
from runs.labels.words import VERDICT_TITLES, verdict_title
from runs.models import Experiment, LabelSet, Response, Run
from runs.models.experiment import Person
from workers.analysis.labels import COLUMNS, KINDS, VERDICTS, label_lines

SETS_A_PAGE = 50
ITEMS_A_PAGE = 20
CSV = "text/csv; charset=utf-8"


def visible_set(request: SignedIn, pk: int) -> LabelSet:
    """Return the label set with its experiment. Raise Http404."""
    return get_object_or_404(LabelSet.objects.visible_to(request.user).select_related("experiment"), pk=pk)


def palette_entries(person: Person, words: Sequence[str]) -> list[PaletteEntry]:
    """Return the entries of the command palette: label sets whose names have all words."""
    sets = find_rows(LabelSet.objects.visible_to(person).current().select_related("experiment"), words, "name")
    return [PaletteEntry(gettext("label set"), s.name, s.experiment.name, s.get_absolute_url()) for s in sets]


@require_safe
def label_sets(request: SignedIn) -> HttpResponse:
    """List the label sets of all experiments that the user may see."""
    return _sets_page(request, LabelSet.objects.visible_to(request.user), None)


@require_safe
def experiment_labels(request: SignedIn, pk: int) -> HttpResponse:
    """List the label sets of an experiment."""
    experiment = visible_experiment(request, pk)
    return _sets_page(request, experiment.label_sets.all(), experiment)


def _sets_page(request: SignedIn, sets: QuerySet[LabelSet], experiment: Experiment | None) -> HttpResponse:
    shelf = require_choice(request, "shelf", ("current", "archived"), "current")
    run = _named_run(request, experiment) if experiment else ""
    shown = sets.filter(archived_at__isnull=shelf == "current")
    page = page_of(request, sets_with_progress(request.user, shown), SETS_A_PAGE)
    context = {
        "experiment": experiment, "page": page, "shelf": shelf, "run": run,
        "archived": sets.filter(archived_at__isnull=False).count() if shelf == "current" else 0,
        "may_label": may_make(request.user),
        "may_create": experiment is not None and may_change(request.user, experiment),
    }  # fmt: skip
    return TemplateResponse(request, "labels/sets.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def label_set_new(request: SignedIn, pk: int) -> HttpResponse:
    """Show the form of a new set; a POST draws its responses. A `run` of the address is selected, else all."""
    experiment = _changeable_experiment(request, pk)
    runs = runs_with_responses(experiment, request.user)
    chosen = _named_run(request, experiment)
    offered = list(runs[:MAX_RUNS])
    selected = [run.uid for run in offered if chosen in ("", run.uid)]
    initial = {"runs": selected, "name": gettext("Labels of %(name)s") % {"name": experiment.name[:180]}}
    form = NewSetForm(experiment, runs, request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and (label_set := form.save(request.user)):
        messages.success(request, gettext("Created %(name)s.") % {"name": label_set.name})
        return redirect(label_set)
    context = {"experiment": experiment, "form": form, "has_runs": bool(offered)}
    return TemplateResponse(request, "labels/new.html", context, status=400 if form.errors else 200)


def runs_with_responses(experiment: Experiment, person: Person) -> QuerySet[Run]:
    """Return the runs of the experiment that have responses with text, the newest first."""
    responses = Response.objects.filter(run=OuterRef("pk"), is_superseded=False)
    runs = Run.objects.visible_to(person).filter(experiment=experiment, archived_at=None)
    return runs.filter(Exists(responses)).order_by("-pk")


@require_safe
def label_set(request: SignedIn, pk: int) -> HttpResponse:
    """Show the progress, the agreement and the labels of a set, as far as the user may see them."""
    row = visible_set(request, pk)
    agreement = read_agreement(row, request.user)
    shown = require_choice(request, "show", SHOWN, DISPUTED)
    page = Paginator(items_of(agreement, shown), ITEMS_A_PAGE).get_page(request.GET.get("page"))
    own = next((entry.done for entry in agreement.progress if entry.reader == request.user.get_username()), 0)
    context = {
        "label_set": row, "experiment": row.experiment, "agreement": agreement, "own": own, "page": page,
        "rows": labelled_items(row, request.user, agreement, list(page.object_list)), "shown": shown,
        "choices": [(value, gettext(title), len(items_of(agreement, value))) for value, title in SHOWN.items()],
        "readers": readers_table(agreement), "table": agreement_table(agreement.pairs),
        "pairs": [(pair, verdict_table(pair), kinds_table(pair)) for pair in agreement.pairs],
        "final": [f"{agreement.count_final(verdict)} {verdict_title(verdict)}" for verdict in VERDICT_TITLES],
        "may_label": may_make(request.user), "may_decide": may_change(request.user, row.experiment),
    }  # fmt: skip
    return TemplateResponse(request, "labels/set.html", context)


@require_POST
def label_set_archive(request: SignedIn, pk: int) -> HttpResponse:
    """Archive a set, or restore it."""
    row = visible_set(request, pk)
    if not may_change(request.user, row.experiment):
        raise PermissionDenied
    is_archived = request.POST.get("do") != "restore"
    archive_set(row, request.user, is_archived=is_archived)
    text = gettext("Archived %(name)s. It takes no labels; Restore undoes this.") if is_archived else gettext(
        "Restored %(name)s."
    )  # fmt: skip
    messages.success(request, text % {"name": row.name})
    return redirect(row)


@require_safe
def label_file(request: SignedIn, pk: int) -> StreamingHttpResponse:
    """Return the labels that the user may see as CSV."""
    return labels_response(visible_set(request, pk), request.user)


def labels_response(label_set: LabelSet, person: Person) -> StreamingHttpResponse:
    """Return the labels that the user may see as a CSV download."""
    lines = label_lines(labels_with_places(label_set, person))
    headers = {"Content-Disposition": f'attachment; filename="{slugify(label_set.name) or "labels"}.csv"'}
    return StreamingHttpResponse(lines, content_type=CSV, headers=headers)


@require_http_methods(["GET", "HEAD", "POST"])
def labels_import(request: SignedIn, pk: int) -> HttpResponse:
    """Show the form; a POST imports a file of labels and reports the result."""
    experiment = _changeable_experiment(request, pk)
    is_post = request.method == "POST"
    form = ImportForm(request.POST if is_post else None, initial={"name": request.GET.get("name", "")[:200]})
    result, problem = None, ""
    if is_post and form.is_valid():
        result, problem = _import(request, experiment, form.cleaned_data["name"])
    context: dict[str, Any] = {
        "experiment": experiment, "form": form, "result": result, "problem": problem, "max_listed": MAX_LISTED,
        "names": experiment.label_sets.current().order_by("name").values_list("name", flat=True)[:SETS_A_PAGE],
        "max_upload_bytes": MAX_UPLOAD_BYTES, "columns": COLUMNS, "verdicts": VERDICTS, "kinds": KINDS,
    }  # fmt: skip
    is_refused = problem or form.errors or (result is not None and result.is_empty)
    return TemplateResponse(request, "labels/import.html", context, status=400 if is_refused else 200)


def _import(request: SignedIn, experiment: Experiment, name: str) -> tuple[ImportResult | None, str]:
    """Return the result of the uploaded file, or why it is refused."""
    upload = request.FILES.get("file")
    if upload is None:
        return None, gettext("Choose a file.")
    if (upload.size or 0) > MAX_UPLOAD_BYTES:
        message = gettext("A file of labels has at most %(most)s MB: split it.")
        return None, message % {"most": MAX_UPLOAD_BYTES >> 20}
    try:
        return import_labels(experiment, request.user, upload, name or set_name(upload.name)), ""  # type: ignore[arg-type]
    except CannotImport as error:
        return None, str(error)


def set_name(file_name: str | None) -> str:
    """Return the name of the set of a file."""
    stem = (file_name or "").rsplit("/", 1)[-1].removesuffix(".csv").replace("\x00", "")
    return stem[:200] or "labels"


def _named_run(request: SignedIn, experiment: Experiment) -> str:
    """Return the uid that the address names, "" for none. Raise UnknownChoice if it is no run of the experiment."""
    uid = request.GET.get("run", "")
    runs = Run.objects.visible_to(request.user).filter(experiment=experiment)
    if uid and not runs.filter(uid=uid[:20]).exists():
        message = gettext("run must be the id of a run of this experiment, not %(value)r.")
        raise UnknownChoice(message % {"value": uid[:100]})
    return uid


def _changeable_experiment(request: SignedIn, pk: int) -> Experiment:
    experiment = visible_experiment(request, pk)
    if not may_change(request.user, experiment):
        raise PermissionDenied
    return experiment
