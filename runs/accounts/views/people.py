"""People, for admins: invited, given a role, shut out and let in again."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import CannotChangeRole, Role, give_role, may_manage_people, note, refuse_last_admin, role_of
from runs.accounts.forms import InvitationForm
from runs.http import SignedIn, page_of

PEOPLE_A_PAGE = 50


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: SignedIn) -> HttpResponse:
    """The list. A POST makes a new person, and shows the link by which they come in."""
    _check(request)
    form = InvitationForm(request.POST or None)
    invited = _invited(request.user, form) if request.method == "POST" and form.is_valid() else None
    return _page(request, InvitationForm() if invited else form, invited)


@never_cache
@require_POST
def person_change(request: SignedIn, pk: int) -> HttpResponse:
    """What the buttons of a row do: `do` is role, shut-out, let-in or link."""
    _check(request)
    person = get_object_or_404(User, pk=pk)
    if request.POST.get("do") == "link":
        note(request.user, person, "Made a link to a new password")
        return _page(request, InvitationForm(), person)
    try:
        messages.success(request, _verb(request)(request, person))
    except CannotChangeRole as error:
        messages.error(request, f"{error}.")
    return redirect("settings-people")


def _page(request: SignedIn, form: InvitationForm, invited: User | None) -> HttpResponse:
    everybody = User.objects.prefetch_related("groups").order_by("-is_active", "username")
    page = page_of(request, everybody, PEOPLE_A_PAGE)
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


def _invited(by: User, form: InvitationForm) -> User:
    with transaction.atomic():
        person: User = form.save(commit=False)
        person.set_unusable_password()
        person.save()
        give_role(person, form.cleaned_data["role"])
        note(by, person, f"Invited as {role_of(person).value}")
    return person


def _link(person: User) -> str:
    """Where the person chooses a password: for three days, once; a new password or a sign-in makes it void."""
    place = [urlsafe_base64_encode(force_bytes(person.pk)), default_token_generator.make_token(person)]
    return reverse("invitation", args=place)


def _change_role(request: SignedIn, person: User) -> str:
    with transaction.atomic():
        give_role(person, request.POST.get("role", ""))
        note(request.user, person, f"Made {role_of(person).value}")
    return gettext("%(name)s is %(role)s now.") % {"name": person.get_username(), "role": role_of(person).value}


def _shut_out(request: SignedIn, person: User) -> str:
    with transaction.atomic():
        refuse_last_admin(person)
        User.objects.filter(pk=person.pk).update(is_active=False)
        note(request.user, person, "Shut out")
    said = gettext("%(name)s is shut out: their sessions and tokens have ended. What they made stays.")
    return said % {"name": person.get_username()}


def _let_in(request: SignedIn, person: User) -> str:
    with transaction.atomic():
        User.objects.filter(pk=person.pk).update(is_active=True)
        note(request.user, person, "Let in again")
    return gettext("%(name)s may sign in again.") % {"name": person.get_username()}


VERBS: dict[str, Callable[[SignedIn, User], str]] = {"role": _change_role, "shut-out": _shut_out, "let-in": _let_in}


def _verb(request: SignedIn) -> Callable[[SignedIn, User], str]:
    asked = request.POST.get("do", "")
    if asked not in VERBS:
        raise Http404(f"do must be one of link, {', '.join(VERBS)}, not {asked!r}")
    return VERBS[asked]


def _check(request: SignedIn) -> None:
    if not may_manage_people(request.user):
        raise PermissionDenied
