"""A setting as people and programs enter it: its texts, its valid values, and how a form, JSON or a URL is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext

DIGITS = 9
"""Number of significant digits of a number in URLs."""


@dataclass(frozen=True)
class Setting:
    """A setting as people and programs enter it.

    title, help: texts of the form, in English. choices: the valid words -> their titles. bounds: the smallest and the
    largest number, which are whole numbers if the default is an int. parse: reads the text of a setting with neither;
    may raise ValueError. option: the option of `manage.py ratings`, empty if the setting does not apply to files, such
    as one that selects verdicts. always_stored: whether snapshots store the default too. It is False for a setting that
    is newer than stored snapshots, so that these keep their keys.
    """

    default: Any
    title: str
    help: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    bounds: tuple[float, float] | None = None
    parse: Callable[[str], Any] = str
    option: str = ""
    always_stored: bool = True

    @property
    def description(self) -> str:
        """Return the texts of the form and the valid values, in English."""
        sentences = [self.title, self.help.rstrip(".")]
        if self.bounds:
            sentences.append("From {} to {}".format(*map(plain_number, self.bounds)))
        if self.choices:
            sentences.append(f"One of {', '.join(self.choices)}")
        return "".join(f"{sentence}. " for sentence in sentences if sentence).strip()

    def read(self, name: str, value: Any) -> Any:
        """Return the setting `name` from a value of a form, of JSON or of a URL. Raise ValueError if it is invalid."""
        if self.bounds and value not in (None, ""):
            return _parse_number(name, value, *self.bounds, is_whole=isinstance(self.default, int))
        if self.bounds or not value:
            return self.default
        return require(name, str(value), self.choices) if self.choices else self.parse(str(value))


def setting_field(default: Any, title: str, help: str = "", **rule: Any) -> Any:
    """Return the dataclass field of a setting."""
    return field(default=default, metadata={"setting": Setting(default, title, help, **rule)})


def plain_number(number: float) -> str:
    """Return a number as URLs and forms write it: 1000, 0.5."""
    return f"{number:.{DIGITS}g}" if abs(number) < 10**DIGITS else f"{number:.0f}"


def require(name: str, value: str, choices: Mapping[str, Any]) -> str:
    """Return the value. Raise ValueError, with the choices, if it is not one of them."""
    if value not in choices:
        message = gettext("%(name)s must be one of %(choices)s, not %(value)r.")
        raise ValueError(message % {"name": name, "choices": ", ".join(choices), "value": value[:100]})
    return value


def _parse_number(name: str, value: Any, low: float, high: float, *, is_whole: bool) -> float:
    try:
        number = int(str(value)) if is_whole else float(str(value))
    except ValueError:
        number = high + 1
    if not low <= number <= high:
        message = (
            gettext("%(name)s must be a whole number from %(low)s to %(high)s, not %(value)r.")
            if is_whole
            else gettext("%(name)s must be a number from %(low)s to %(high)s, not %(value)r.")
        )
        limits = {"low": plain_number(low), "high": plain_number(high)}
        raise ValueError(message % {"name": name, **limits, "value": str(value)[:40]})
    return number if is_whole else float(plain_number(number))
