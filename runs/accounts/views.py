"""Views of settings pages: users (for admins), the user's own tokens, and secrets of scorers. No stored token is
shown."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from runs import access
from runs.access import CannotChangeRole, Role, give_role, may_manage_users, note, refuse_last_admin, role_of
from runs.accounts.forms import InvitationForm, SecretForm, TokenForm
from runs.http import SignedIn, page_of
from runs.models import ApiToken, ScorerSecret

PEOPLE_A_PAGE = 50
ROWS = 50


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: SignedIn) -> HttpResponse:
    """Show the list of users. A POST creates a user and shows the link by which they choose a password."""
    _check(request)
    form = InvitationForm(request.POST or None)
    invited = _create_invited_user(request.user, form) if request.method == "POST" and form.is_valid() else None
    return _page(request, InvitationForm() if invited else form, invited)


@never_cache
@require_POST
def person_change(request: SignedIn, pk: int) -> HttpResponse:
    """Run the action of a button in a user's row; the parameter `do` is role, shut-out, let-in or link."""
    _check(request)
    person = get_object_or_404(User, pk=pk)
    if request.POST.get("do") == "link":
        note(request.user, person, "Created a password link")
        return _page(request, InvitationForm(), person)
    try:
        messages.success(request, _action(request)(request, person))
    except CannotChangeRole as error:
        messages.error(request, f"{error}.")
    return redirect("settings-people")


def _page(request: SignedIn, form: InvitationForm, invited: User | None) -> HttpResponse:
    users = User.objects.prefetch_related("groups").order_by("-is_active", "username")
    page = page_of(request, users, PEOPLE_A_PAGE)
    context = {
        "tab": "people",
        "form": form,
        "page": page,
        "rows": [(person, role_of(person)) for person in page],
        "roles": Role,
        "invited": invited,
        "link": request.build_absolute_uri(_link(invited)) if invited else "",
    }
    return TemplateResponse(request, "accounts/people.html", context, status=400 if form.errors else 200)


def _create_invited_user(admin: User, form: InvitationForm) -> User:
    with transaction.atomic():
        person: User = form.save(commit=False)
        person.set_unusable_password()
        person.save()
        give_role(person, form.cleaned_data["role"])
        note(admin, person, f"Invited as {role_of(person).value}")
    return person


def _link(person: User) -> str:
    """Return the address at which the user sets a password. It works once and for three days; a new password or a
    sign-in makes it void."""
    args = [urlsafe_base64_encode(force_bytes(person.pk)), default_token_generator.make_token(person)]
    return reverse("invitation", args=args)


def _change_role(request: SignedIn, person: User) -> str:
    with transaction.atomic():
        give_role(person, request.POST.get("role", ""))
        note(request.user, person, f"Changed role to {role_of(person).value}")
    return gettext("%(name)s is now %(role)s.") % {"name": person.get_username(), "role": role_of(person).value}


def _deactivate(request: SignedIn, person: User) -> str:
    with transaction.atomic():
        refuse_last_admin(person)
        User.objects.filter(pk=person.pk).update(is_active=False)
        note(request.user, person, "Deactivated")
    message = gettext("Deactivated %(name)s. Their sessions and tokens no longer work; their runs and other data stay.")
    return message % {"name": person.get_username()}


def _reactivate(request: SignedIn, person: User) -> str:
    with transaction.atomic():
        User.objects.filter(pk=person.pk).update(is_active=True)
        note(request.user, person, "Reactivated")
    return gettext("Reactivated %(name)s.") % {"name": person.get_username()}


ACTIONS: dict[str, Callable[[SignedIn, User], str]] = {
    "role": _change_role,
    "shut-out": _deactivate,
    "let-in": _reactivate,
}


def _action(request: SignedIn) -> Callable[[SignedIn, User], str]:
    action = request.POST.get("do", "")
    if action not in ACTIONS:
        raise Http404(f"do must be one of link, {', '.join(ACTIONS)}, not {action!r}")
    return ACTIONS[action]


def _check(request: SignedIn) -> None:
    if not may_manage_users(request.user):
        raise PermissionDenied


@never_cache
@sensitive_post_parameters("token")
@require_http_methods(["GET", "HEAD", "POST"])
def secrets(request: SignedIn) -> HttpResponse:
    """Show the secrets that the user may use. A POST saves a secret."""
    if request.method == "POST" and not access.may_make(request.user):
        raise PermissionDenied
    form = SecretForm(request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and (secret := form.save_secret()):
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
    """Delete one of the user's own secrets."""
    secret = get_object_or_404(ScorerSecret, owner=request.user, pk=pk)
    access.delete_secret(secret)
    message = gettext("Deleted %(secret)s. Runs that have started keep the token.")
    messages.success(request, message % {"secret": secret})
    return redirect("settings-secrets")


@never_cache
@sensitive_variables("text", "created")
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: SignedIn) -> HttpResponse:
    """Show the list of tokens. A POST creates a token and shows its text in this response only."""
    form = TokenForm(request.user, request.POST or None)
    created = form.issue_token() if request.method == "POST" and form.is_valid() else None
    context = {
        "tab": "tokens",
        "form": TokenForm(request.user) if created else form,
        "made": created[0] if created else None,
        "text": created[1] if created else "",
        "tokens": ApiToken.objects.filter(user=request.user).created_by_users().select_related("run").order_by("-pk"),
        "now": timezone.now(),
    }
    return TemplateResponse(request, "accounts/tokens.html", context, status=400 if form.errors else 200)


@require_POST
def token_revoke(request: SignedIn, pk: int) -> HttpResponse:
    """Revoke one of the user's own tokens immediately."""
    token = get_object_or_404(ApiToken, user=request.user, pk=pk)
    access.revoke(token)
    message = gettext("Revoked %(token)s. Requests with it are refused from now on.")
    messages.success(request, message % {"token": token})
    return redirect("settings-tokens")
