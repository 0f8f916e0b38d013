"""One's own tokens: made, shown once, seen when they were last used, revoked."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from runs import access
from runs.accounts.forms import TokenForm
from runs.http import SignedIn
from runs.models import ApiToken
from runs.models.token import RUN_SCOPE


@never_cache
@sensitive_variables("text", "made")
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: SignedIn) -> HttpResponse:
    """The list. A POST makes one, and shows its text in this answer and never again."""
    form = TokenForm(request.user, request.POST or None)
    made = form.issued() if request.method == "POST" and form.is_valid() else None
    context = {
        "tab": "tokens",
        "form": TokenForm(request.user) if made else form,
        "made": made[0] if made else None,
        "text": made[1] if made else "",
        "tokens": ApiToken.objects.filter(user=request.user)
        .exclude(scope=RUN_SCOPE)
        .select_related("run")
        .order_by("-pk"),
        "now": timezone.now(),
    }
    return TemplateResponse(request, "accounts/tokens.html", context, status=400 if form.errors else 200)


@require_POST
def token_revoke(request: SignedIn, pk: int) -> HttpResponse:
    """Ends one of one's own tokens at once."""
    token = get_object_or_404(ApiToken, user=request.user, pk=pk)
    access.revoke(token)
    said = gettext("Revoked %(token)s: whatever uses it is refused from now on.")
    messages.success(request, said % {"token": token})
    return redirect("settings-tokens")
