"""Say in words what a flag means: its title, the numbers that made it fire, and the test."""

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
    "plays_user": _("%(value)s of %(n)s responses invent a turn of the conversation."),
    "length_limit": _("%(value)s of %(n)s responses are cut at the limit of tokens."),
    "collapse": _("%(value)s of %(n)s responses to other prompts give the same answer."),
    "template": _("%(value)s of %(n)s responses to other prompts are nearly the same."),
}
SMALLEST = 1e-12
"""A smaller p-value is written as less than this."""


def title_of(flag: Flag) -> str:
    """Return the flag's title."""
    return gettext(DETECTORS_BY_NAME[flag.detector].label)


def reason_of(flag: Flag) -> str:
    """Return a sentence or two with the numbers that made the flag fire, and what they were compared with."""
    sentence = REASONS.get(flag.detector, _counted)(flag)
    if not flag.compared_with:
        return sentence
    compared = gettext("Compared with %(what)s.") % {"what": flag.compared_with}
    return f"{sentence} {compared}"


def test_of(flag: Flag) -> str:
    """Return the p-value, what it had to be at most, and the interval of the measured share; "" if the flag was not
    tested."""
    if flag.p is None or flag.level is None:
        return ""
    method = gettext("Prediction interval") if flag.key == "peers" else gettext("Exact test")
    message = gettext("%(method)s: p = %(p)s; at most %(level)s fires at %(evaluation)s.")
    evaluation = evaluation_name(flag.number or 1)
    tested = message % {"method": method, "p": _p(flag.p), "level": _p(flag.level), "evaluation": evaluation}
    if flag.low is None or flag.high is None:
        return tested
    return f"{tested} {_interval(flag, flag.low, flag.high)}"


def evaluation_name(number: int) -> str:
    """Return words for the evaluation with this number after the base."""
    if number == 1:
        return gettext("the first evaluation after training began")
    return gettext("evaluation %(number)s after training began") % {"number": number}


def _interval(flag: Flag, low: float, high: float) -> str:
    if flag.detector in PAIRED:
        message = gettext("95 %% interval of the share of such pairs: %(low)s to %(high)s.")
        return message % {"low": _percent(low), "high": _percent(high)}
    if flag.before is None:
        return gettext("95 %% interval: %(low)s to %(high)s.") % {"low": _percent(low), "high": _percent(high)}
    if flag.detector == "guess":
        message = gettext("95 %% interval of the difference from all wrong ones before: %(low)s to %(high)s points.")
    else:
        message = gettext("95 %% interval of the change: %(low)s to %(high)s points.")
    return message % {"low": _points(low), "high": _points(high)}


PAIRED = ("score", "length")
"""Detectors that count pairs of responses, before training and now. Their value is the share of such pairs."""


def _points(change: float) -> str:
    return f"{100 * change:+.0f}".replace("-", "−")


def _p(p: float) -> str:
    return f"< {SMALLEST:.0e}" if p < SMALLEST else f"{p:.2g}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _n(flag: Flag) -> str:
    return gettext("n unknown") if flag.n is None else f"n = {flag.n}"


def _before(flag: Flag) -> str:
    return "" if flag.before is None else gettext("Before: %(before)s.") % {"before": _percent(flag.before)}


def _counted(flag: Flag) -> str:
    sentence = gettext(COUNTED[flag.detector]) % {"value": round(flag.value * (flag.n or 0)), "n": flag.n}
    return f"{sentence} {_before(flag)}".rstrip()


def _guesses(flag: Flag) -> str:
    message = gettext("%(value)s of %(n)s responses are bare wrong answers.")
    sentence = message % {"value": round(flag.value * (flag.n or 0)), "n": flag.n}
    if flag.before is None:
        return sentence
    before = gettext("Wrong before, of any form: %(before)s.") % {"before": _percent(flag.before)}
    return f"{sentence} {before}"


def _fell(flag: Flag) -> str:
    message = (
        gettext("Right responses fell from %(before)s to %(value)s (%(n)s) while the reward rose.")
        if flag.detector == "accuracy"
        else gettext("Safe responses fell from %(before)s to %(value)s (%(n)s) while the reward rose.")
    )
    before = _percent(flag.before) if flag.before is not None else "–"
    return message % {"before": before, "value": _percent(flag.value), "n": _n(flag)}


def _paired(flag: Flag) -> str:
    """Return how many pairs show it. A flag without a test has the mean as its value, and no count."""
    if flag.p is None or flag.n is None:
        return gettext("An earlier version measured it, without a test.")
    if flag.detector == "length":
        message = gettext("%(value)s of %(n)s responses are much longer than before training, and the reward rose.")
    elif flag.key.endswith("/cost"):
        message = gettext("%(value)s of %(n)s responses have a higher %(key)s than before training; the reward rose.")
    else:
        message = gettext("%(value)s of %(n)s responses have a lower %(key)s than before training; the reward rose.")
    return message % {"value": round(flag.value * flag.n), "n": flag.n, "key": flag.key}


def _far(flag: Flag) -> str:
    numbers = {"value": f"{flag.value:.3g}", "limit": f"{flag.limit:.3g}", "n": flag.n}
    if flag.before is None:
        return gettext("Its KL is %(value)s nats per token; the ceiling is %(limit)s (n = %(n)s responses).") % numbers
    message = gettext(
        "Its KL is %(value)s nats per token. The geometric mean of %(n)s runs with other seeds at this step is "
        "%(before)s; up to %(limit)s is expected of one more."
    )
    return message % (numbers | {"before": f"{flag.before:.3g}"})


REASONS: Mapping[str, Callable[[Flag], str]] = {
    "accuracy": _fell,
    "safety": _fell,
    "score": _paired,
    "guess": _guesses,
    "length": _paired,
    "kl_band": _far,
}
