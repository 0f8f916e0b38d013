"""Colours of groups on charts, which users of an experiment choose."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponse, HttpResponseBadRequest, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from runs.access import may_change
from runs.http import SignedIn
from runs.models import Experiment, LineStyle


@require_POST
def line_colour(request: SignedIn, pk: int) -> HttpResponse:
    """Set the colour of a group on every chart, or reset it if `colour` is empty; then show the experiment again.

    Raise PermissionDenied if the user may not change the experiment.
    """
    visible = Experiment.objects.visible_to(request.user)
    style = get_object_or_404(LineStyle.objects.select_related("experiment").filter(experiment__in=visible), pk=pk)
    if not may_change(request.user, style.experiment):
        raise PermissionDenied
    style.colour = "" if "reset" in request.POST else request.POST.get("colour", "").lower()
    try:
        style.clean_fields()
    except ValidationError:
        return HttpResponseBadRequest(gettext("The colour must be written as #rrggbb, such as #c04f00."))
    LineStyle.objects.filter(pk=pk).update(colour=style.colour)
    messages.success(request, gettext("Set the colour.") if style.colour else gettext("Reset the colour."))
    back = QueryDict(request.POST.get("back", "")).urlencode()
    return redirect(f"{style.experiment.get_absolute_url()}{'?' if back else ''}{back}#compared-title")
