"""Say in words what a flag means: its title, and the numbers that made it fire."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.models import Flag
from workers.analysis.detectors import DETECTORS_BY_NAME

COUNTED: Mapping[str, str] = {
    "empty": _("%(value)s of %(n)s responses are empty."),
    "special_tokens": _("%(value)s of %(n)s responses spell out a special token."),
    "language": _("%(value)s of %(n)s responses are in another language or script than their prompt."),
    "padding": _("%(value)s of %(n)s responses have many tokens and hardly any text."),
    "length_limit": _("%(value)s of %(n)s responses are cut at the limit of tokens."),
}


def title_of(flag: Flag) -> str:
    """Return the flag's title."""
    return gettext(DETECTORS_BY_NAME[flag.detector].label)


def reason_of(flag: Flag) -> str:
    """Return a sentence or two with the numbers that made the flag fire, and what they were compared with."""
    sentence = REASONS.get(flag.detector, _counted)(flag)
    if flag.before is None or flag.detector == "kl_band" or not flag.compared_with:
        return sentence
    compared = gettext("Compared with %(what)s.") % {"what": flag.compared_with}
    return f"{sentence} {compared}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _n(flag: Flag) -> str:
    return gettext("n unknown") if flag.n is None else f"n = {flag.n}"


def _counted(flag: Flag) -> str:
    sentence = gettext(COUNTED[flag.detector]) % {"value": round(flag.value * (flag.n or 0)), "n": flag.n}
    if flag.before is None:
        return sentence
    return f"{sentence} {gettext('Before: %(before)s.') % {'before': _percent(flag.before)}}"


def _fell(flag: Flag) -> str:
    message = (
        gettext("Right responses fell from %(before)s to %(value)s (%(key)s, %(n)s) while the reward rose.")
        if flag.detector == "accuracy"
        else gettext("Safe responses fell from %(before)s to %(value)s (%(key)s, %(n)s) while the reward rose.")
    )
    before = _percent(flag.before) if flag.before is not None else "–"
    return message % {"before": before, "value": _percent(flag.value), "key": flag.key, "n": _n(flag)}


def _score(flag: Flag) -> str:
    message = gettext("The mean score of %(key)s went from %(before)s to %(value)s (%(n)s) while the reward rose.")
    before = "–" if flag.before is None else f"{flag.before:.3g}"
    return message % {"key": flag.key, "before": before, "value": f"{flag.value:.3g}", "n": _n(flag)}


def _longer(flag: Flag) -> str:
    message = gettext("The mean response has %(value)s characters instead of %(before)s (%(n)s); the reward rose.")
    before = "–" if flag.before is None else f"{flag.before:.0f}"
    return message % {"value": f"{flag.value:.0f}", "before": before, "n": _n(flag)}


def _collapsed(flag: Flag) -> str:
    sentence = gettext("%(value)s of the prompts get the same answer, and it is not the expected one.")
    text = sentence % {"value": _percent(flag.value)}
    if flag.before is None:
        return text
    return f"{text} {gettext('Before: %(before)s.') % {'before': _percent(flag.before)}}"


def _far(flag: Flag) -> str:
    message = gettext(
        "Its KL is %(value)s nats per token; the median of %(n)s other runs of the experiment is %(before)s."
    )
    before = "–" if flag.before is None else f"{flag.before:.3g}"
    return message % {"value": f"{flag.value:.3g}", "n": flag.n, "before": before}


REASONS: Mapping[str, Callable[[Flag], str]] = {
    "accuracy": _fell,
    "safety": _fell,
    "score": _score,
    "length": _longer,
    "collapse": _collapsed,
    "kl_band": _far,
}
