"""Views of criteria, of their rubrics and of gold sets."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, F, Max
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from judging.access import may_hold, may_reword
from judging.judges.forms import CriterionForm, GoldForm, WordsForm
from judging.judges.gold import BYTES_AT_MOST, CannotRead, keep
from judging.judges.rubrics import make_standard, next_version
from judging.models import Criterion, GoldSet, Rubric
from runs.http import SignedIn, page_of

SETS_A_PAGE = 60
CRITERIA_A_PAGE = 60
VERSIONS_A_PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
def gold_sets(request: SignedIn) -> HttpResponse:
    """Render the list of gold sets. A POST creates one from a file."""
    if request.method == "POST" and not may_hold(request.user):
        raise PermissionDenied
    form = GoldForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid() and _read(request, form):
        return redirect("gold-sets")
    listed = GoldSet.objects.visible_to(request.user).select_related("owner")
    page = page_of(request, listed.annotate(size=Count("pairs")).order_by("-pk"), SETS_A_PAGE)
    context = {"form": form, "page": page, "may_hold": may_hold(request.user)}
    return TemplateResponse(request, "judging/judges/gold.html", context, status=400 if form.errors else 200)


def _read(request: SignedIn, form: GoldForm) -> bool:
    """Create a gold set from the file. Return whether that succeeded; if not, add the reason to the form."""
    # They are what a file may speak of.
    make_standard()
    said = form.cleaned_data
    try:
        made = keep(request.user, said["name"], said["file"].read(BYTES_AT_MOST + 1), is_private=said["is_private"])
    except CannotRead as error:
        form.add_error("file", str(error))
        return False
    n = made.pairs.count()
    words = ngettext("Read %(n)s pair of %(name)s.", "Read %(n)s pairs of %(name)s.", n)
    messages.success(request, words % {"n": n, "name": made.name})
    return True


@dataclass(frozen=True)
class Line:
    """A line of a version. `sign` is + if the line is new, - if only the version before has it, else empty."""

    sign: str
    text: str


@require_http_methods(["GET", "HEAD", "POST"])
def criteria(request: SignedIn) -> HttpResponse:
    """Render the list of criteria. A POST creates a criterion."""
    if request.method == "POST" and not may_hold(request.user):
        raise PermissionDenied
    make_standard()
    form = CriterionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        return redirect(_made(request, form))
    listed = Criterion.objects.visible_to(request.user).select_related("owner")
    versions = listed.annotate(versions=Count("rubrics"), newest_at=Max("rubrics__created_at"))
    page = page_of(request, versions.order_by(F("owner").asc(nulls_first=True), "slug"), CRITERIA_A_PAGE)
    context = {"form": form, "page": page, "may_hold": may_hold(request.user)}
    return TemplateResponse(request, "judging/judges/criteria.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def criterion(request: SignedIn, slug: str) -> HttpResponse:
    """Render a criterion's newest rubric and all earlier ones. A POST creates the next version."""
    found = get_object_or_404(Criterion.objects.visible_to(request.user).select_related("owner"), slug=slug)
    newest = found.newest()
    words = {name: getattr(newest, name) for name in WordsForm.base_fields} if newest else {}
    form = WordsForm(request.POST or None, initial=words)
    if request.method == "POST":
        if not may_reword(request.user, found):
            raise PermissionDenied
        if form.is_valid():
            rubric, is_new = next_version(found, form.words, request.user)
            said = gettext("Made %(rubric)s.") if is_new else gettext("These are the words of %(rubric)s already.")
            messages.success(request, said % {"rubric": rubric})
            return redirect(found)
    versions = found.rubrics.annotate(used=Count("tournaments")).order_by("-version")
    context = {
        "criterion": found, "form": form, "newest": newest, "may_reword": may_reword(request.user, found),
        "rubrics": page_of(request, versions, VERSIONS_A_PAGE),
    }  # fmt: skip
    return TemplateResponse(request, "judging/judges/criterion.html", context, status=400 if form.errors else 200)


@require_safe
def rubric(request: SignedIn, slug: str, version: int) -> HttpResponse:
    """Render one version of a rubric, and its changes since the version before."""
    visible = Criterion.objects.visible_to(request.user)
    found = get_object_or_404(Rubric.objects.filter(criterion__in=visible), criterion__slug=slug, version=version)
    before = found.criterion.rubrics.filter(version__lt=version).order_by("-version").first()
    context = {"rubric": found, "before": before, "lines": changes(before, found) if before else []}
    return TemplateResponse(request, "judging/judges/rubric.html", context)


def changes(before: Rubric, after: Rubric) -> list[Line]:
    """Return the lines of both versions; a line that only one of them has carries its sign."""
    told = difflib.ndiff(_lines(before), _lines(after))
    return [Line(line[0].strip(), line[2:]) for line in told if not line.startswith("?")]


def _lines(rubric: Rubric) -> list[str]:
    scale = gettext("Scores from %(low)s to %(high)s") % {"low": rubric.scale_low, "high": rubric.scale_high}
    return [rubric.question, *rubric.text.splitlines(), scale]


def _made(request: SignedIn, form: CriterionForm) -> Criterion:
    with transaction.atomic():
        made = Criterion.objects.create(
            slug=form.cleaned_data["name"], owner=request.user, is_private=form.cleaned_data["is_private"]
        )
        next_version(made, form.words, request.user)
    messages.success(request, gettext("Made %(name)s.") % {"name": made.slug})
    return made
