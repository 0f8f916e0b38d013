"""Gold sets: pairs whose better answer is known, read from files."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from judging.access import may_hold
from judging.judges.forms import GoldForm
from judging.judges.gold import BYTES_AT_MOST, CannotRead, keep
from judging.judges.rubrics import make_standard
from judging.models import GoldSet
from runs.http import SignedIn, page_of

SETS_A_PAGE = 60


@require_http_methods(["GET", "HEAD", "POST"])
def gold_sets(request: SignedIn) -> HttpResponse:
    """The list; a POST reads a file."""
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
    """Whether the file became a gold set; else the form says why not."""
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
