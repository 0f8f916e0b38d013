"""Forms of flags: the reason of a dismissal, and the thresholds of the site or of an experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from runs.flags.commands import MAX_REASON, CannotChangeThresholds, CannotDismiss, dismiss, set_thresholds
from runs.flags.queries import thresholds_of
from runs.models import Experiment, Flag, FlagThresholds
from workers.analysis.detectors import DETECTORS, Detector

OFF = "off-"
"""Prefix of the checkboxes that turn detectors off."""


class DismissalForm(forms.Form):
    """The reason why a flag is no cheating, with the hash of the data that the user saw."""

    data_hash = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)
    reason = forms.CharField(
        label=gettext_lazy("Why is this no cheating?"),
        max_length=MAX_REASON,
        help_text=gettext_lazy("Everybody who sees the run sees the reason. New responses open the flag again."),
        error_messages={
            "required": gettext_lazy("State why this is no cheating; the reason is stored with the flag."),
        },
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, flag: Flag, data: QueryDict | None = None) -> None:
        super().__init__(data, initial={"data_hash": flag.data_hash}, auto_id=f"flag-{flag.pk}-%s")
        self.flag = flag

    def save(self, person: User) -> bool:
        """Dismiss the flag and return True. If the form is invalid, or the flag changed meanwhile, return False and
        add the errors to the field."""
        if self.is_valid():
            self._dismiss(person)
        if self.errors:
            # The user has to look at the data of now, and then may submit again.
            self.data = {"reason": self.data.get("reason", ""), "data_hash": self.flag.data_hash}
            self.fields["reason"].widget.attrs["autofocus"] = True
        return not self.errors

    def _dismiss(self, person: User) -> None:
        seen = self.cleaned_data["data_hash"]
        if seen and seen != self.flag.data_hash:
            message = gettext("The flag is now of newer data, of step %(step)s. Read them, then dismiss it again.")
            self.add_error("reason", message % {"step": self.flag.step})
            return
        try:
            dismiss(self.flag, person, self.cleaned_data["reason"])
        except CannotDismiss as error:
            self.add_error("reason", str(error))


@dataclass(frozen=True)
class ThresholdRow:
    """A detector with its fields. inherited: the threshold without one of its own, None if it is off; current: the one
    that applies now."""

    detector: Detector
    title: str
    field: forms.BoundField
    off: forms.BoundField
    inherited: float | None
    current: float | None
    has_own: bool

    @property
    def alone(self) -> float | None:
        """Return the limit where no evaluation before training is known; None if the detector does not judge then."""
        return None if self.current is None else self.detector.limit_alone(self.current)


class ThresholdsForm(forms.Form):
    """Thresholds of the site, or of an experiment: a number and a checkbox "off" for each detector. A detector with
    neither inherits its threshold."""

    def __init__(self, experiment: Experiment | None, data: QueryDict | None = None) -> None:
        self.experiment = experiment
        self.stored = FlagThresholds.objects.filter(experiment=experiment).select_related("changed_by").first()
        self.own: dict[str, float | None] = dict(self.stored.values) if self.stored else {}
        defaults: dict[str, float | None] = {detector.name: detector.threshold for detector in DETECTORS}
        self.inherited = thresholds_of(None) if experiment else defaults
        super().__init__(data, initial=_initial_values(self.own), auto_id="threshold-%s")
        for detector in DETECTORS:
            self.fields[detector.name] = _number_field(detector)
            self.fields[OFF + detector.name] = forms.BooleanField(required=False, label=gettext_lazy("Off"))

    def rows(self) -> Iterator[ThresholdRow]:
        """Yield a row for each detector."""
        for detector in DETECTORS:
            name = detector.name
            inherited = self.inherited[name]
            yield ThresholdRow(
                detector, gettext(detector.label), self[name], self[OFF + name], inherited,
                self.own.get(name, inherited), name in self.own,
            )  # fmt: skip

    def save(self, person: User) -> bool:
        """Save the thresholds and return True. If any is invalid, return False and add the errors to the fields."""
        if not self.is_valid():
            return False
        try:
            set_thresholds(self.experiment, self._values(), person)
        except CannotChangeThresholds as error:
            self.add_error(None, str(error))
        return not self.errors

    def _values(self) -> dict[str, float | None]:
        names = [detector.name for detector in DETECTORS]
        off: dict[str, float | None] = {name: None for name in names if self.cleaned_data[OFF + name]}
        numbers = {name: self.cleaned_data[name] for name in names if self.cleaned_data[name] is not None}
        return numbers | off


def _initial_values(own: Mapping[str, float | None]) -> dict[str, Any]:
    numbers = {name: f"{value:.10g}" for name, value in own.items() if value is not None}
    return numbers | {OFF + name: True for name, value in own.items() if value is None}


def _number_field(detector: Detector) -> forms.FloatField:
    params = {"low": f"{detector.low:g}", "high": f"{detector.high:g}"}
    message = gettext("Enter a number from %(low)s to %(high)s.") % params
    return forms.FloatField(
        required=False,
        min_value=detector.low,
        max_value=detector.high,
        label=gettext(detector.label),
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), message),
        # A field of type number would drop what is no number.
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
