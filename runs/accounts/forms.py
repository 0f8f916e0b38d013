"""Forms of the settings pages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext, gettext_lazy

from runs import access, service_registry
from runs.access import Role
from runs.models import ApiToken, Run, ScorerSecret
from runs.models.token import SCOPES


class TokenForm(forms.Form):
    """Form of a new token."""

    name = forms.CharField(
        label=gettext_lazy("Purpose"),
        max_length=100,
        help_text=gettext_lazy("Such as notebook, cluster or CI."),
    )
    scope = forms.ChoiceField(
        label=gettext_lazy("Scope"),
        # Those that need a run, too, come last.
        choices=[(n, SCOPES[n].help) for n in sorted(SCOPES, key=lambda name: SCOPES[name].needs_run)],
    )
    days = forms.IntegerField(
        label=gettext_lazy("Days until it expires"), min_value=1, max_value=access.MAX_DAYS, initial=access.DAYS
    )
    run = forms.CharField(
        label=gettext_lazy("Run"),
        required=False,
        max_length=100,
        help_text=gettext_lazy("Only for scope ingest: the uid of one of your runs."),
    )

    def __init__(self, person: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.person = person

    def clean_run(self) -> Run | None:
        """Return the run of that uid, or None if the field is empty. Raise ValidationError for an unknown run."""
        uid = self.cleaned_data["run"]
        if not uid:
            return None
        run = Run.objects.visible_to(self.person).select_related("experiment").filter(uid=uid).first()
        if run is None:
            raise forms.ValidationError(gettext("There is no run %(uid)s that you may see.") % {"uid": uid})
        return run

    def issue_token(self) -> tuple[ApiToken, str] | None:
        """Create the token and return it with its text; return None and add the reason to the form if it is refused."""
        data = self.cleaned_data
        try:
            return access.issue(self.person, data["scope"], days=data["days"], name=data["name"], run=data["run"])
        except access.CannotIssue as error:
            self.add_error("run", f"{error}.")
            return None


class SecretForm(forms.Form):
    """Form of a scorer's secret. A secret of the same name is replaced."""

    name = forms.RegexField(
        r"^[A-Za-z0-9][\w.-]{0,99}$", label=gettext_lazy("Name"), max_length=100,
        help_text=gettext_lazy("Runs name it as their scorer. Letters, digits, dots, dashes and underscores."),
        error_messages={"invalid": gettext_lazy("Must be letters, digits, dots, dashes and underscores.")},
    )  # fmt: skip
    address = forms.CharField(
        label=gettext_lazy("Address"), max_length=500, required=False,
        help_text=gettext_lazy(
            "Address of the scorer, such as http://node7:8000; the token is sent only there. If empty, the token is "
            "for scorers served by your own runs."
        ),
    )  # fmt: skip
    token = forms.CharField(
        label=gettext_lazy("Token"), max_length=1000,
        help_text=gettext_lazy("Stored encrypted and never shown again."),
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip
    is_shared = forms.BooleanField(
        label=gettext_lazy("Available to all users"), required=False,
        help_text=gettext_lazy(
            "Their runs get the token in a file; no user can see it. Otherwise only you can use the secret."
        ),
    )  # fmt: skip

    def __init__(self, person: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.person = person
        if not person.is_superuser:
            del self.fields["is_shared"]

    def clean_address(self) -> str:
        """Return the address without a slash at its end. Raise ValidationError if it is not valid."""
        address: str = self.cleaned_data["address"].rstrip("/")
        if address and (reason := service_registry.address_problem(address)):
            raise forms.ValidationError(
                gettext("Must be an address such as http://node7:8000: %(why)s.") % {"why": reason}
            )
        return address

    def clean_token(self) -> str:
        """Return the token. Raise ValidationError if it cannot be sent in a header."""
        token: str = self.cleaned_data["token"]
        if not token.isascii() or not token.isprintable() or " " in token:
            raise forms.ValidationError(gettext("Must be one word of ASCII characters."))
        return token

    def save_secret(self) -> ScorerSecret | None:
        """Save and return the secret; return None and add the reason to the form if it is refused."""
        data = self.cleaned_data
        try:
            return access.save_secret(
                self.person, data["name"], data["token"],
                address=data["address"], is_shared=data.get("is_shared", False),
            )  # fmt: skip
        except access.CannotSaveSecret as error:
            self.add_error("address", str(error))
            return None


class InvitationForm(forms.ModelForm):  # type: ignore[type-arg]
    """Form of a new user, who sets a password of their own."""

    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=Role.choices, initial=Role.MEMBER)

    class Meta:
        model = User
        fields = ("username",)
        labels = {"username": gettext_lazy("User name")}  # noqa: RUF012 (as Django reads it)
        help_texts = {"username": gettext_lazy("Letters, digits and @.+-_")}  # noqa: RUF012
