"""What is typed into the settings."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext, gettext_lazy

from runs import access, service_registry
from runs.access import Role
from runs.models import ApiToken, Run, ScorerSecret

SCOPES = [
    ("read", gettext_lazy("read: sees what you see")),
    ("launch", gettext_lazy("launch: read, and launches, changes and cancels")),
    ("admin", gettext_lazy("admin: all that you may do")),
    ("serve", gettext_lazy("serve: registers services")),
    ("ingest", gettext_lazy("ingest: writes the records of one run")),
]


class TokenForm(forms.Form):
    """A new token."""

    name = forms.CharField(
        label=gettext_lazy("What for"),
        max_length=100,
        help_text=gettext_lazy("To recognise it by: notebook, cluster, CI."),
    )
    scope = forms.ChoiceField(label=gettext_lazy("Scope"), choices=SCOPES)
    days = forms.IntegerField(
        label=gettext_lazy("Days until it expires"), min_value=1, max_value=access.MAX_DAYS, initial=access.DAYS
    )
    run = forms.CharField(
        label=gettext_lazy("Run"),
        required=False,
        help_text=gettext_lazy("Only for scope ingest: the uid of a run of yours."),
    )

    def __init__(self, person: User, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.person = person

    def clean_run(self) -> Run | None:
        """The run of that uid."""
        uid = self.cleaned_data["run"]
        if not uid:
            return None
        run = Run.objects.visible_to(self.person).select_related("experiment").filter(uid=uid).first()
        if run is None:
            raise forms.ValidationError(gettext("There is no run %(uid)s that you may see.") % {"uid": uid})
        return run

    def issued(self) -> tuple[ApiToken, str] | None:
        """The token and its text; None where it must not be made, and the form says why."""
        given = self.cleaned_data
        try:
            return access.issue(self.person, given["scope"], days=given["days"], name=given["name"], run=given["run"])
        except access.CannotIssue as error:
            self.add_error("run", f"{error}.")
            return None


class SecretForm(forms.Form):
    """A scorer's secret. One of the same name is replaced."""

    name = forms.RegexField(
        r"^[A-Za-z0-9][\w.-]{0,99}$", label=gettext_lazy("Name"), max_length=100,
        help_text=gettext_lazy("Runs give it as their scorer. Letters, digits, points, dashes and underscores."),
        error_messages={"invalid": gettext_lazy("Must be letters, digits, points, dashes and underscores.")},
    )  # fmt: skip
    address = forms.CharField(
        label=gettext_lazy("Address"), max_length=500, required=False,
        help_text=gettext_lazy(
            "Where the scorer answers, such as http://node7:8000; the token is sent nowhere else. Empty: the token is "
            "for scorers that your own runs serve."
        ),
    )  # fmt: skip
    token = forms.CharField(
        label=gettext_lazy("Token"), max_length=1000,
        help_text=gettext_lazy("Stored encrypted and never shown again."),
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip
    is_shared = forms.BooleanField(
        label=gettext_lazy("Everybody may use it"), required=False,
        help_text=gettext_lazy("Their runs get the token in a file; nobody sees it. Otherwise only you may use it."),
    )  # fmt: skip

    def __init__(self, person: User, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.person = person
        if not person.is_superuser:
            del self.fields["is_shared"]

    def clean_address(self) -> str:
        """Return the address without the slash at its end."""
        address: str = self.cleaned_data["address"].rstrip("/")
        if address and (why := service_registry.address_problem(address)):
            raise forms.ValidationError(
                gettext("Must be an address such as http://node7:8000: %(why)s.") % {"why": why}
            )
        return address

    def clean_token(self) -> str:
        """Return the token, which a header can carry."""
        token: str = self.cleaned_data["token"]
        if not token.isascii() or not token.isprintable() or " " in token:
            raise forms.ValidationError(gettext("Must be one word of ASCII characters."))
        return token

    def saved(self) -> ScorerSecret | None:
        """Return the secret, or None if it must not be made; the form then says why."""
        given = self.cleaned_data
        try:
            return access.save_secret(
                self.person, given["name"], given["token"],
                address=given["address"], is_shared=given.get("is_shared", False),
            )  # fmt: skip
        except access.CannotSaveSecret as error:
            self.add_error("address", str(error))
            return None


class InvitationForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new person, who chooses a password of their own."""

    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=Role.choices, initial=Role.MEMBER)

    class Meta:
        model = User
        fields = ("username",)
        labels = {"username": gettext_lazy("Name to sign in with")}  # noqa: RUF012 (as Django reads it)
        help_texts = {"username": gettext_lazy("Letters, digits and @.+-_")}  # noqa: RUF012
