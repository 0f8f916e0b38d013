"""Views of criteria, of their rubrics and of gold sets."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, F, Max
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from judging.access import may_change_rubric, may_create
from judging.judges.forms import CriterionForm, GoldForm, RubricForm
from judging.judges.gold import MAX_BYTES, CannotRead, save_gold_set
from judging.judges.rubrics import changes, create_standard_rubrics, next_version
from judging.models import Criterion, GoldSet, Rubric
from runs.http import SignedIn, page_of

SETS_A_PAGE = 60
CRITERIA_A_PAGE = 60
VERSIONS_A_PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
def gold_sets(request: SignedIn) -> HttpResponse:
    """Render the list of gold sets. A POST creates one from a file."""
    if request.method == "POST" and not may_create(request.user):
        raise PermissionDenied
    form = GoldForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid() and _save_gold_set(request, form):
        return redirect("gold-sets")
    rows = GoldSet.objects.visible_to(request.user).select_related("owner")
    page = page_of(request, rows.annotate(size=Count("pairs")).order_by("-pk"), SETS_A_PAGE)
    context = {"form": form, "page": page, "may_create": may_create(request.user)}
    return TemplateResponse(request, "judging/judges/gold.html", context, status=400 if form.errors else 200)


def _save_gold_set(request: SignedIn, form: GoldForm) -> bool:
    """Create a gold set from the file. Return whether that succeeded; if not, add the reason to the form."""
    # Gold pairs may refer to these criteria.
    create_standard_rubrics()
    data = form.cleaned_data
    try:
        gold_set = save_gold_set(
            request.user, data["name"], data["file"].read(MAX_BYTES + 1), is_private=data["is_private"]
        )
    except CannotRead as error:
        form.add_error("file", str(error))
        return False
    n = gold_set.pairs.count()
    message = ngettext("Uploaded %(n)s pair of %(name)s.", "Uploaded %(n)s pairs of %(name)s.", n)
    messages.success(request, message % {"n": n, "name": gold_set.name})
    return True


@require_http_methods(["GET", "HEAD", "POST"])
def criteria(request: SignedIn) -> HttpResponse:
    """Render the list of criteria. A POST creates a criterion."""
    if request.method == "POST" and not may_create(request.user):
        raise PermissionDenied
    create_standard_rubrics()
    form = CriterionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        return redirect(_create_criterion(request, form))
    rows = Criterion.objects.visible_to(request.user).select_related("owner")
    versions = rows.annotate(versions=Count("rubrics"), newest_at=Max("rubrics__created_at"))
    page = page_of(request, versions.order_by(F("owner").asc(nulls_first=True), "slug"), CRITERIA_A_PAGE)
    context = {"form": form, "page": page, "may_create": may_create(request.user)}
    return TemplateResponse(request, "judging/judges/criteria.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def criterion(request: SignedIn, slug: str) -> HttpResponse:
    """Render a criterion's newest rubric and all earlier ones. A POST creates the next version."""
    criterion = get_object_or_404(Criterion.objects.visible_to(request.user).select_related("owner"), slug=slug)
    newest = criterion.newest()
    words = {name: getattr(newest, name) for name in RubricForm.base_fields} if newest else {}
    form = RubricForm(request.POST or None, initial=words)
    if request.method == "POST":
        if not may_change_rubric(request.user, criterion):
            raise PermissionDenied
        if form.is_valid():
            rubric, is_new = next_version(criterion, form.rubric_text, request.user)
            message = gettext("Created %(rubric)s.") if is_new else gettext("%(rubric)s has this text already.")
            messages.success(request, message % {"rubric": rubric})
            return redirect(criterion)
    versions = criterion.rubrics.annotate(tournament_count=Count("tournaments")).order_by("-version")
    context = {
        "criterion": criterion, "form": form, "newest": newest,
        "may_change": may_change_rubric(request.user, criterion),
        "rubrics": page_of(request, versions, VERSIONS_A_PAGE),
    }  # fmt: skip
    return TemplateResponse(request, "judging/judges/criterion.html", context, status=400 if form.errors else 200)


@require_safe
def rubric(request: SignedIn, slug: str, version: int) -> HttpResponse:
    """Render one version of a rubric, and its changes since the version before."""
    visible = Criterion.objects.visible_to(request.user)
    rubric = get_object_or_404(Rubric.objects.filter(criterion__in=visible), criterion__slug=slug, version=version)
    previous = rubric.criterion.rubrics.filter(version__lt=version).order_by("-version").first()
    context = {"rubric": rubric, "previous": previous, "lines": changes(previous, rubric) if previous else []}
    return TemplateResponse(request, "judging/judges/rubric.html", context)


def _create_criterion(request: SignedIn, form: CriterionForm) -> Criterion:
    with transaction.atomic():
        criterion = Criterion.objects.create(
            slug=form.cleaned_data["name"], owner=request.user, is_private=form.cleaned_data["is_private"]
        )
        next_version(criterion, form.rubric_text, request.user)
    messages.success(request, gettext("Created %(name)s.") % {"name": criterion.slug})
    return criterion
