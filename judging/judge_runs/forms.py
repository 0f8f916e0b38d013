"""Forms of a judge: its server, sampling, prices and limits; and of its assignments."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.validators import MinValueValidator
from django.utils.translation import gettext_lazy

from judging.judges import MAX_ANSWER_SECONDS, MAX_CONCURRENT_REQUESTS, Draft, newest_rubrics, save_key
from judging.model_judge import LIMITED_BY, MIN_TOKENS
from judging.models import GoldSet, Judge, JudgeKey, Rubric
from runs.http import JsonField

MAX_CAP = 1_000_000


class JudgeForm(forms.ModelForm):  # type: ignore[type-arg]
    """Form of a judge. `draft` is the judge to save, once the form is clean. A typed key is stored under the judge's
    name."""

    secret = forms.CharField(
        required=False, max_length=1000, label=gettext_lazy("New key"),
        help_text=gettext_lazy("Stored encrypted and never shown again. Empty: the key above, if any."),
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip
    limited_by = forms.ChoiceField(
        choices=[(name, name) for name in LIMITED_BY], label=gettext_lazy("Length is limited by")
    )

    class Meta:
        model = Judge
        fields = (
            "name", "base_url", "model", "family", "key", "sampling", "max_tokens", "structured", "answer_seconds",
            "price_in", "price_out", "requests_per_minute", "tokens_per_minute", "at_once", "is_private",
        )  # fmt: skip
        field_classes = {"sampling": JsonField}  # noqa: RUF012
        labels = {  # noqa: RUF012
            "name": gettext_lazy("Name"),
            "base_url": gettext_lazy("Address"),
            "model": gettext_lazy("Model"),
            "family": gettext_lazy("Family"),
            "key": gettext_lazy("Key"),
            "sampling": gettext_lazy("Sampling"),
            "max_tokens": gettext_lazy("Tokens per reply"),
            "structured": gettext_lazy("Send the JSON schema"),
            "answer_seconds": gettext_lazy("Seconds per reply"),
            "price_in": gettext_lazy("Price of a million input tokens"),
            "price_out": gettext_lazy("Price of a million output tokens"),
            "requests_per_minute": gettext_lazy("Requests per minute"),
            "tokens_per_minute": gettext_lazy("Tokens per minute"),
            "at_once": gettext_lazy("Concurrent requests"),
            "is_private": gettext_lazy("Only I may see it"),
        }
        help_texts = {  # noqa: RUF012
            "base_url": gettext_lazy("Address of any OpenAI-compatible server, such as http://127.0.0.1:8001/v1."),
            "model": gettext_lazy("The model's name on the server."),
            "family": gettext_lazy("Its base model, to warn if it judges models of its own family."),
            "sampling": gettext_lazy("JSON, sent unchanged."),
            "structured": gettext_lazy("Untick if the server does not know JSON schemas, or sends empty replies."),
            "price_in": gettext_lazy("0 for a server of your own."),
            "requests_per_minute": gettext_lazy("0: no limit."),
            "tokens_per_minute": gettext_lazy("0: no limit."),
        }

    field_order = (
        "name", "base_url", "model", "family", "key", "secret", "is_private", "max_tokens", "limited_by",
        "answer_seconds", "structured", "sampling", "price_in", "price_out", "requests_per_minute",
        "tokens_per_minute", "at_once",
    )  # fmt: skip

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Keys of an existing judge are its owner's, also if an admin changes it.
        self.person = self.instance.owner or person
        self.fields["sampling"].widget.attrs["rows"] = 2
        if self.instance.pk is None:
            self.fields["sampling"].initial = self.initial["sampling"] = {"temperature": 0}
        self.fields["key"].queryset = JudgeKey.objects.filter(owner=self.person).order_by("name")  # type: ignore[attr-defined]
        self.fields["key"].empty_label = "–"  # type: ignore[attr-defined]
        bounds = {"max_tokens": (MIN_TOKENS, None), "answer_seconds": (1, MAX_ANSWER_SECONDS)}
        for name, (low, high) in {**bounds, "at_once": (1, MAX_CONCURRENT_REQUESTS)}.items():
            self.fields[name] = forms.IntegerField(
                min_value=low, max_value=high, label=self.fields[name].label, initial=self.fields[name].initial
            )
        for name in ("price_in", "price_out"):
            self.fields[name].validators.append(MinValueValidator(Decimal(0)))

    def clean_secret(self) -> str:
        """Return the typed key. Raise ValidationError if it could not be sent."""
        secret: str = self.cleaned_data["secret"].strip()
        if not (secret.isascii() and secret.isprintable()):
            raise forms.ValidationError(gettext_lazy("Must be one line of printable ASCII characters."))
        return secret

    def clean_sampling(self) -> dict[str, Any]:
        """Return the sampling as a dict of fields. Raise ValidationError if it is not an object."""
        sampling = self.cleaned_data["sampling"] or {}
        if not isinstance(sampling, dict):
            raise forms.ValidationError(gettext_lazy('Must be an object such as {"temperature": 0}.'))
        return sampling

    @property
    def draft(self) -> Draft:
        """Return the judge to save; a typed key is stored first."""
        values = {name: value for name, value in self.cleaned_data.items() if name != "secret"}
        if secret := self.cleaned_data["secret"]:
            values["key"] = save_key(self.person, values["name"], secret)
        return Draft(**values)

    def _post_clean(self) -> None:
        """Do nothing: `judging.judges` writes the row, and checks more than the row's own validation."""


class WorkForm(forms.Form):
    """Form of an assignment to a tournament, or to a gold set if the form has `gold_set`."""

    judge = forms.ModelChoiceField(Judge.objects.none(), label=gettext_lazy("Judge"))
    gold_set = forms.ModelChoiceField(GoldSet.objects.none(), label=gettext_lazy("Gold set"))
    rubrics = forms.ModelMultipleChoiceField(
        Rubric.objects.none(), widget=forms.CheckboxSelectMultiple, label=gettext_lazy("Criteria")
    )
    cap = forms.DecimalField(
        min_value=0, max_value=MAX_CAP, max_digits=14, decimal_places=6, label=gettext_lazy("Cap"),
        help_text=gettext_lazy("The most to spend, in the currency of the judge's prices. 0 for a free judge."),
    )  # fmt: skip
    both_orders = forms.BooleanField(
        required=False, initial=True, label=gettext_lazy("Ask in both orders"),
        help_text=gettext_lazy("Unticked: each pair once, in an order from the seed, at half the price."),
    )  # fmt: skip
    asks_twice = forms.BooleanField(
        required=False, initial=True, label=gettext_lazy("Repeat 5 in 100 questions"),
        help_text=gettext_lazy("Shows whether the judge repeats its verdict. Second verdicts do not count in ratings."),
    )  # fmt: skip


class TournamentWorkForm(WorkForm):
    """Form of an assignment to a tournament, of a judge that the user may ask."""

    gold_set = None  # type: ignore[assignment]

    def __init__(self, *args: Any, judges: Any, rubrics: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["judge"].queryset = judges  # type: ignore[attr-defined]
        self.fields["rubrics"].queryset = rubrics  # type: ignore[attr-defined]
        self.fields["rubrics"].initial = [rubric.pk for rubric in rubrics]


class GoldWorkForm(WorkForm):
    """Form of an assignment to a gold set that the user sees, of the judge of the page."""

    judge = None  # type: ignore[assignment]
    asks_twice = None  # type: ignore[assignment]

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["gold_set"].queryset = GoldSet.objects.visible_to(person).order_by("name")  # type: ignore[attr-defined]
        self.fields["rubrics"].queryset = newest_rubrics(person)  # type: ignore[attr-defined]
