"""Say in templates what a flag means, and show what its responses hide: white space, and nothing at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from django import template
from django.utils.translation import gettext, ngettext

from runs.flags import reason_of, test_of, title_of
from runs.models import Flag, Run
from workers.analysis.detectors import DETECTORS_BY_NAME, Detector

register = template.Library()
INVISIBLE = "[\\s\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]"
"""White space, and characters without a width."""
BLANK = re.compile(f"{INVISIBLE}+")
LONG_BLANK = re.compile(f"{INVISIBLE}{{8,}}")


@register.filter
def flag_title(flag: Flag) -> str:
    """Return the flag's title, such as "Empty responses"."""
    return title_of(flag)


@register.filter
def flag_titles(flags: Iterable[Flag]) -> str:
    """Return the titles of several flags, separated by commas."""
    return ", ".join(title_of(flag) for flag in flags)


@register.filter
def flag_reason(flag: Flag) -> str:
    """Return the numbers that made the flag fire, in words."""
    return reason_of(flag)


@register.filter
def flag_test(flag: Flag) -> str:
    """Return the p-value with its level, and the interval, in words; "" if the flag was not tested."""
    return test_of(flag)


@register.filter
def of_run(flags: Mapping[int, list[Flag]], run: Run) -> list[Flag]:
    """Return the run's flags, given run id -> flags; an empty list if it has none, or if no flags were read."""
    return flags.get(run.pk, []) if flags else []


@register.filter
def flag_detector(flag: Flag) -> Detector:
    """Return the detector that fired."""
    return DETECTORS_BY_NAME[flag.detector]


@register.filter
def threshold(value: float | None) -> str:
    """Format a threshold; "off" if there is none."""
    return gettext("off") if value is None else f"{value:g}"


@register.filter
def blank_text(text: str) -> str:
    """Say that a text shows nothing, and why; return "" for a text that shows something."""
    if not text:
        return gettext("(empty)")
    if not BLANK.fullmatch(text):
        return ""
    n = len(text)
    return ngettext("(only white space: %(n)s character)", "(only white space: %(n)s characters)", n) % {"n": n}


@register.filter
def visible_text(text: str) -> str:
    """Return a text with long runs of white space counted instead of shown."""
    return LONG_BLANK.sub(_count, text)


def _count(run: re.Match[str]) -> str:
    return " " + gettext("⟨white space: %(n)s characters⟩") % {"n": len(run[0])} + " "
