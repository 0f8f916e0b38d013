"""Pages on which people label a response: readers blind and in an order of their own, and adjudicators."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from runs.access import may_change, may_make
from runs.http import SignedIn, UnknownChoice, whole_number
from runs.labels.codebook import read_codebook
from runs.labels.commands import CannotLabel, adjudicate, save_label, undo_label, withdraw_adjudication
from runs.labels.forms import DecisionForm, VerdictForm
from runs.labels.queries import read_agreement, read_names
from runs.labels.reading import Reading, ReadingOrder
from runs.labels.results import labelled_items
from runs.labels.views import visible_set
from runs.labels.visible_text import visible_text
from runs.labels.words import KIND_TITLES, VERDICT_KEYS, verdict_title
from runs.models import Label, LabelItem, LabelSet
from workers.analysis.labels import EXCLUSIVE_KINDS, VERDICTS


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def label_next(request: SignedIn, pk: int) -> HttpResponse:
    """Show the next response without the user's label: its question and text, and nothing else.

    `n` is a place in the reader's order; `after` the place that was left. A POST saves a label, skips the response, or
    undoes the newest label.
    """
    label_set = visible_set(request, pk)
    if not may_make(request.user):
        raise PermissionDenied
    order = ReadingOrder(label_set, request.user)
    if request.method == "POST":
        return _change(request, order)
    n = _place(request, "n") or order.next_place(_place(request, "after") or 0)
    reading = order.read(n) if n is not None else None
    if n is not None and reading is None:
        raise UnknownChoice(gettext("n must be from 1 to %(total)s.") % {"total": order.total})
    return _reading_page(request, order, reading, _form_of(reading.own) if reading else None)


def _place(request: SignedIn, name: str) -> int | None:
    """Return the place that a parameter names; None if it is missing. Raise UnknownChoice."""
    text = request.GET.get(name)
    if text is None:
        return None
    if (n := whole_number(text)) is None:
        raise UnknownChoice(
            gettext("%(name)s must be a whole number, not %(value)r.") % {"name": name, "value": text[:40]}
        )
    return n


def _change(request: SignedIn, order: ReadingOrder) -> HttpResponse:
    do, n = request.POST.get("do", "save"), whole_number(request.POST.get("n", "")) or 0
    try:
        if do == "undo":
            item = undo_label(order.label_set, request.user)
            messages.success(request, gettext("Undone: your label of this response no longer counts."))
            return _to_place(order.label_set, "n", order.place_of(item.pk))
        if do == "skip":
            return _to_place(order.label_set, "after", n)
        reading = order.read(n)
        if reading is None:
            raise Http404(gettext("n must be from 1 to %(total)s.") % {"total": order.total})
        form = VerdictForm(request.POST)
        if not form.is_valid():
            return _reading_page(request, order, reading, form, status=400)
        reading.item.label_set = order.label_set
        save_label(reading.item, request.user, form.decision)
    except CannotLabel as error:
        messages.error(request, str(error))
        return _to_place(order.label_set, "n", n) if n else redirect("label-next", order.label_set.pk)
    return _to_place(order.label_set, "after", n)


def _to_place(label_set: LabelSet, name: str, n: int) -> HttpResponse:
    return redirect(f"{reverse('label-next', args=[label_set.pk])}?{name}={n}")


def _reading_page(
    request: SignedIn, order: ReadingOrder, reading: Reading | None, form: VerdictForm | None, status: int = 200
) -> HttpResponse:
    context = {
        "label_set": order.label_set, "order": order, "reading": reading,
        "skipped": sum(n < reading.n for n in order.open) if reading else 0, **form_context(form),
    }  # fmt: skip
    if reading is not None:
        context |= {
            "question": visible_text(reading.item.question), "response": visible_text(reading.item.response),
            "raw": reading.item.response,
        }  # fmt: skip
    return TemplateResponse(request, "labels/label.html", context, status=status)


def form_context(form: VerdictForm | None) -> dict[str, Any]:
    """Return what draws the fields of a label: each verdict and kind with its key, and whether it is selected."""
    if form is None:
        return {"codebook": read_codebook()}
    verdict, chosen = form["verdict"].value(), form["kinds"].value() or []
    kinds = [
        (kind, gettext(title), gettext(help), n, kind in chosen)
        for n, (kind, (title, help)) in enumerate(KIND_TITLES.items(), 1)
    ]
    return {
        "form": form, "codebook": read_codebook(),
        "verdicts": [(value, verdict_title(value), VERDICT_KEYS[value], value == verdict) for value in VERDICTS],
        "kinds": [kind for kind in kinds if kind[0] not in EXCLUSIVE_KINDS],
        "exclusive_kinds": [kind for kind in kinds if kind[0] in EXCLUSIVE_KINDS],
    }  # fmt: skip


def _form_of(label: Label | None) -> VerdictForm:
    if label is None:
        return VerdictForm()
    return VerdictForm(initial={"verdict": label.verdict, "kinds": label.kinds, "note": label.note})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def label_item(request: SignedIn, pk: int, item: int) -> HttpResponse:
    """Show the labels of a response that the user may see, and their history; a POST decides where readers differ, or
    withdraws the decision."""
    label_set = visible_set(request, pk)
    row = get_object_or_404(label_set.items, pk=item)
    agreement = read_agreement(label_set, request.user)
    if row.pk not in agreement.final:
        raise Http404(gettext("You see the labels of a response after its readers have labelled it."))
    (labelled,) = labelled_items(label_set, request.user, agreement, [row.pk])
    is_open = row.pk in agreement.readable
    may_decide = may_change(request.user, label_set.experiment) and is_open
    form = DecisionForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        if not may_decide:
            raise PermissionDenied
        row.label_set = label_set
        if reply := _decide(request, row, form):
            return reply
    elif labelled.decision is not None:
        label = labelled.decision.label
        form = DecisionForm(initial={"verdict": label.verdict, "kinds": label.kinds, "note": label.note})
    context = {
        "label_set": label_set, "labelled": labelled, "may_decide": may_decide,
        "history": _history(label_set, row, None if is_open else request.user),
        "question": visible_text(row.question), "response": visible_text(row.response), "raw": row.response,
        **form_context(form),
    }  # fmt: skip
    return TemplateResponse(request, "labels/item.html", context, status=400 if form.errors else 200)


def _decide(request: SignedIn, item: LabelItem, form: DecisionForm) -> HttpResponse | None:
    """Store or withdraw the decision; None if the form is invalid."""
    try:
        if request.POST.get("do") == "withdraw":
            withdraw_adjudication(item, request.user)
            messages.success(request, gettext("Withdrawn: the decision no longer counts."))
            return redirect(item)
        if not form.is_valid():
            return None
        adjudicate(item, request.user, form.decision)
    except CannotLabel as error:
        messages.error(request, str(error))
        return redirect(item)
    messages.success(request, gettext("Saved the decision."))
    left = [pk for pk in read_agreement(item.label_set, request.user).disputed if pk != item.pk]
    following = next((pk for pk in left if pk > item.pk), left[0] if left else None)
    return (
        redirect("label-item", item.label_set_id, following) if following else redirect("label-set", item.label_set_id)
    )


def _history(label_set: LabelSet, item: LabelItem, reader: User | None) -> list[tuple[str, Label]]:
    """Return the earlier labels of a response with their readers, the newest first; only those of `reader` if it is
    given."""
    names = read_names(label_set)
    rows = item.labels.filter(is_current=False).select_related("reader").order_by("-labelled_at", "-pk")
    rows = rows if reader is None else rows.filter(reader=reader)
    return [(names.of_label(row), row) for row in rows[:50]]
