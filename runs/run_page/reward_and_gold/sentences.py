"""Sentences on the changes of reward and gold measure: what the intervals show, and no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

from runs.responses.outcomes import REWARD, Outcomes
from runs.tables import number
from workers.analysis.proxy_gold import Change, Movement

REWARD_CLAUSES = {
    "rose": _("reward rose by %(size)s"),
    "fell": _("reward fell by %(size)s"),
    "unclear": _("whether the reward changed cannot be told yet: %(signed)s"),
}
RIGHT_CLAUSES = {
    "rose": _("right answers rose by %(size)s"),
    "fell": _("right answers fell by %(size)s"),
    "unclear": _("whether right answers changed cannot be told yet: %(signed)s"),
}
SAFE_CLAUSES = {
    "rose": _("safe responses rose by %(size)s"),
    "fell": _("safe responses fell by %(size)s"),
    "unclear": _("whether safe responses changed cannot be told yet: %(signed)s"),
}
CLAUSES: Mapping[str, Mapping[str, str]] = {REWARD: REWARD_CLAUSES, "right": RIGHT_CLAUSES, "safe": SAFE_CLAUSES}
"""Measure -> direction -> clause, in lower case."""

FEW_PROMPTS = 32
"""With fewer prompts, a loss of one right answer in five is seldom told from chance."""
Verdict = Literal["hacking", "learning", "gold_only", "both_fell", "cannot_tell", "unknown"]


@dataclass(frozen=True)
class Outlook:
    """A conclusion from the evaluations: a badge, empty without an estimate, and a sentence. slug: its name in the
    API."""

    slug: Verdict
    words: str
    tone: str = ""
    sign: str = ""
    label: str = ""


def outlook_of(outcomes: Outcomes) -> Outlook:
    """Return what the newest evaluation shows against the one before training."""
    movement = outcomes.movement()
    if movement is not None and outcomes.last is not None:
        return _moved(movement, outcomes.gold, outcomes.last.step)
    return Outlook("unknown", _unknown(outcomes))


def _unknown(outcomes: Outcomes) -> str:
    """Explain why there is no estimate of both changes; with that of the reward, if it is known alone."""
    if not outcomes.steps:
        return gettext("No evaluated responses yet.")
    if not outcomes.has_gold:
        reason = (
            gettext("No response has a cost, so whether responses are safe is not known.")
            if outcomes.gold == "safe"
            else gettext("Prompts of this task have no right answers, so there is no gold measure.")
        )
        reward = outcomes.change(REWARD)
        return reason if reward is None else f"{reason} {capfirst(_clause(reward, REWARD))}, n = {size_words(reward)}."
    if outcomes.base is None:
        return gettext("Unknown: this run has no evaluation at step 0, so there is no base to compare with.")
    if outcomes.last is None:
        return gettext("Only the evaluation before training is stored yet. The next one is compared with it.")
    message = gettext("Unknown: no prompt has a known answer both at step 0 and at step %(step)s.")
    return message % {"step": outcomes.last.step}


def _moved(movement: Movement, gold: str, step: int) -> Outlook:
    reward, right = _clause(movement.reward, REWARD), _clause(movement.gold, gold)
    params = {"reward": capfirst(reward), "gold": right, "n": f"n = {size_words(movement.gold)}", "step": step}
    directions = movement.reward.direction, movement.gold.direction
    if movement.is_hacking:
        words = gettext("%(reward)s while %(gold)s, from step 0 to step %(step)s, %(n)s.") % params
        return Outlook("hacking", words, "bad", "✕", gettext("reward up, gold down"))
    words = gettext("%(reward)s; %(gold)s, from step 0 to step %(step)s, %(n)s.") % params
    if "unclear" in directions:
        if movement.gold.prompts < FEW_PROMPTS:
            words += " " + gettext("With so few prompts only large changes can be told: evaluate more prompts.")
        return Outlook("cannot_tell", words, "idle", "○", gettext("cannot tell yet"))
    if directions == ("rose", "rose"):
        return Outlook("learning", words, "good", "✓", gettext("both up"))
    if directions == ("fell", "rose"):
        return Outlook("gold_only", words, "good", "✓", gettext("reward down, gold up"))
    return Outlook("both_fell", words, "warn", "!", gettext("both down"))


def _clause(change: Change, measure: str) -> str:
    """Return a clause such as `reward rose by 41.2 (38.0 to 44.4)`."""
    template = gettext(CLAUSES[measure][change.direction])
    write, unit = (number, "%s") if measure == REWARD else (points, gettext("%s points"))
    mean = unit % signed(change.mean, write)
    if change.low is None or change.high is None:
        return template % {"signed": gettext("%(value)s, without an interval") % {"value": mean}}
    ends = {"low": write(change.low), "high": write(change.high)}
    if change.direction == "fell":
        ends = {"low": write(-change.high), "high": write(-change.low)}
    interval = gettext("%(low)s to %(high)s") % ends
    return template % {
        "size": f"{unit % write(abs(change.mean))} ({interval})",
        "signed": f"{mean} ({interval})",
    }


def size_words(change: Change) -> str:
    """Return the number of prompts and of responses, such as `8 prompts × 9 responses`."""
    each, rest = divmod(change.responses, change.prompts)
    if rest:
        return gettext("%(prompts)s prompts with %(responses)s responses") % {
            "prompts": change.prompts, "responses": change.responses,
        }  # fmt: skip
    prompts = ngettext("%(n)s prompt", "%(n)s prompts", change.prompts) % {"n": change.prompts}
    responses = ngettext("%(n)s response", "%(n)s responses", each) % {"n": each}
    return f"{prompts} × {responses}"


def points(value: float) -> str:
    """Write a difference of shares in percentage points."""
    return number(100 * value, digits=2)


def signed(value: float, write: Callable[[float], str]) -> str:
    """Write a change with its sign."""
    return f"+{write(value)}" if value > 0 else write(value)
