"""The form of a judge: where it is asked, how, at which price and how often; and what it is to do."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.validators import MinValueValidator
from django.utils.translation import gettext_lazy

from judging.judges import ANSWER_SECONDS_AT_MOST, AT_ONCE_AT_MOST, Draft, keep_key, newest_rubrics
from judging.model_judge import LEAST_TOKENS, LIMITED_BY
from judging.models import GoldSet, Judge, JudgeKey, Rubric

CAP_AT_MOST = 1_000_000


class JudgeForm(forms.ModelForm):  # type: ignore[type-arg]
    """`draft` is the judge to be, once it is clean. A key that is typed is kept under the judge's name."""

    secret = forms.CharField(
        required=False, max_length=1000, label=gettext_lazy("New key"),
        help_text=gettext_lazy("Kept encrypted and never shown again. Empty keeps the one above, if any."),
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
        labels = {  # noqa: RUF012
            "name": gettext_lazy("Name"),
            "base_url": gettext_lazy("Address"),
            "model": gettext_lazy("Model"),
            "family": gettext_lazy("Family"),
            "key": gettext_lazy("Key"),
            "sampling": gettext_lazy("Sampling"),
            "max_tokens": gettext_lazy("Tokens an answer may have"),
            "structured": gettext_lazy("Hold the model to the schema"),
            "answer_seconds": gettext_lazy("Seconds an answer may take"),
            "price_in": gettext_lazy("Price of a million tokens read"),
            "price_out": gettext_lazy("Price of a million tokens written"),
            "requests_per_minute": gettext_lazy("Requests a minute"),
            "tokens_per_minute": gettext_lazy("Tokens a minute"),
            "at_once": gettext_lazy("Requests at once"),
            "is_private": gettext_lazy("Only I may see it"),
        }
        help_texts = {  # noqa: RUF012
            "base_url": gettext_lazy("Of any OpenAI-compatible server, such as http://127.0.0.1:8001/v1."),
            "model": gettext_lazy("As the server calls it."),
            "family": gettext_lazy("The base model that it comes from, to warn where it judges its own kin."),
            "sampling": gettext_lazy("JSON, sent as it is."),
            "structured": gettext_lazy("Untick where the server does not know JSON schemas, or answers empty."),
            "price_in": gettext_lazy("0 for a server of your own."),
            "requests_per_minute": gettext_lazy("0 is no limit."),
            "tokens_per_minute": gettext_lazy("0 is no limit."),
        }

    field_order = (
        "name", "base_url", "model", "family", "key", "secret", "is_private", "max_tokens", "limited_by",
        "answer_seconds", "structured", "sampling", "price_in", "price_out", "requests_per_minute",
        "tokens_per_minute", "at_once",
    )  # fmt: skip

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Of a judge that there is, keys are its owner's, also where an admin changes it.
        self.person = self.instance.owner or person
        self.fields["sampling"].widget.attrs["rows"] = 2
        if self.instance.pk is None:
            self.fields["sampling"].initial = self.initial["sampling"] = {"temperature": 0}
        self.fields["key"].queryset = JudgeKey.objects.filter(owner=self.person).order_by("name")  # type: ignore[attr-defined]
        self.fields["key"].empty_label = "–"  # type: ignore[attr-defined]
        bounds = {"max_tokens": (LEAST_TOKENS, None), "answer_seconds": (1, ANSWER_SECONDS_AT_MOST)}
        for name, (low, high) in {**bounds, "at_once": (1, AT_ONCE_AT_MOST)}.items():
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
        """An object of fields."""
        said = self.cleaned_data["sampling"] or {}
        if not isinstance(said, dict):
            raise forms.ValidationError(gettext_lazy('Must be an object such as {"temperature": 0}.'))
        return said

    @property
    def draft(self) -> Draft:
        """The judge to be; a typed key is kept first."""
        said = {name: value for name, value in self.cleaned_data.items() if name != "secret"}
        if secret := self.cleaned_data["secret"]:
            said["key"] = keep_key(self.person, said["name"], secret)
        return Draft(**said)

    def _post_clean(self) -> None:
        """The row is written by `judging.judges`, which knows more than the row's own checks."""


class WorkForm(forms.Form):
    """What a judge is to do on a tournament, or on a gold set where `gold_set` is asked for."""

    judge = forms.ModelChoiceField(Judge.objects.none(), label=gettext_lazy("Judge"))
    gold_set = forms.ModelChoiceField(GoldSet.objects.none(), label=gettext_lazy("Gold set"))
    rubrics = forms.ModelMultipleChoiceField(
        Rubric.objects.none(), widget=forms.CheckboxSelectMultiple, label=gettext_lazy("Criteria")
    )
    cap = forms.DecimalField(
        min_value=0, max_value=CAP_AT_MOST, max_digits=14, decimal_places=6, label=gettext_lazy("Cap"),
        help_text=gettext_lazy("Never more is spent, in the currency of the judge's prices. 0 for a free one."),
    )  # fmt: skip
    both_orders = forms.BooleanField(
        required=False, initial=True, label=gettext_lazy("Ask both ways round"),
        help_text=gettext_lazy("Unticked: each pair once, in a seeded order, at half the price."),
    )  # fmt: skip
    asks_twice = forms.BooleanField(
        required=False, initial=True, label=gettext_lazy("Ask 5 in 100 a second time"),
        help_text=gettext_lazy("Tells whether it says the same twice. Second answers count in no rating."),
    )  # fmt: skip


class OnTournament(WorkForm):
    """A judge that the person may have asked, on a tournament."""

    gold_set = None  # type: ignore[assignment]

    def __init__(self, *args: Any, judges: Any, rubrics: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["judge"].queryset = judges  # type: ignore[attr-defined]
        self.fields["rubrics"].queryset = rubrics  # type: ignore[attr-defined]
        self.fields["rubrics"].initial = [rubric.pk for rubric in rubrics]


class OnGold(WorkForm):
    """The judge of the page, on a gold set that the person sees."""

    judge = None  # type: ignore[assignment]
    asks_twice = None  # type: ignore[assignment]

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["gold_set"].queryset = GoldSet.objects.visible_to(person).order_by("name")  # type: ignore[attr-defined]
        self.fields["rubrics"].queryset = newest_rubrics(person)  # type: ignore[attr-defined]
