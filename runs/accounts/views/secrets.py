"""One's own scorers' secrets, and those that admins share: created, replaced, deleted; no token is ever shown."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from runs import access
from runs.accounts.forms import SecretForm
from runs.http import SignedIn
from runs.models import ScorerSecret

ROWS = 50


@never_cache
@sensitive_post_parameters("token")
@require_http_methods(["GET", "HEAD", "POST"])
def secrets(request: SignedIn) -> HttpResponse:
    """Show the secrets that the person may use. A POST saves one."""
    if request.method == "POST" and not access.may_make(request.user):
        raise PermissionDenied
    form = SecretForm(request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and (secret := form.saved()):
        messages.success(request, gettext("Saved %(secret)s.") % {"secret": secret})
        return redirect("settings-secrets")
    usable = ScorerSecret.objects.usable_by(request.user)
    context = {
        "tab": "secrets",
        "form": form if access.may_make(request.user) else None,
        "page": Paginator(usable.select_related("owner"), ROWS).get_page(request.GET.get("page")),
    }
    return TemplateResponse(request, "accounts/secrets.html", context, status=400 if form.errors else 200)


@require_POST
def secret_delete(request: SignedIn, pk: int) -> HttpResponse:
    """Delete one of one's own secrets."""
    secret = get_object_or_404(ScorerSecret, owner=request.user, pk=pk)
    access.delete_secret(secret)
    message = gettext("Deleted %(secret)s. Runs that have started keep the token that they were given.")
    messages.success(request, message % {"secret": secret})
    return redirect("settings-secrets")
