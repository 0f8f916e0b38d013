"""What is typed into the settings."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext, gettext_lazy

from runs import access
from runs.access import Role
from runs.models import ApiToken, Run

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


class InvitationForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new person, who chooses a password of their own."""

    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=Role.choices, initial=Role.MEMBER)

    class Meta:
        model = User
        fields = ("username",)
        labels = {"username": gettext_lazy("Name to sign in with")}  # noqa: RUF012 (as Django reads it)
        help_texts = {"username": gettext_lazy("Letters, digits and @.+-_")}  # noqa: RUF012
