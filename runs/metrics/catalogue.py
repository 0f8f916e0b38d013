"""The metrics that pages know: title, unit, direction, help, section, and the tasks whose runs show them first.

A new metric is a new row of METRICS. A metric without a row has its key as title. Its values on samples, in training
or of a prior task, and the ends of its interval, are better in the same direction and are shares as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.metrics.metric_charts import (
    CONTAINED_HELP,
    EQUAL_HELP,
    MARGIN_HELP,
    NATS,
    PREFERS_RIGHT_HELP,
    RIGHT_HELP,
    SHARE_OF_PROMPTS,
    SHARE_OF_RESPONSES,
    chart_of,
    in_words,
)
from workers.analysis.keys import (
    ACCURACY,
    CAPTURED,
    COMPARED,
    COST,
    EXACT,
    KL,
    MARGIN,
    PASS,
    PREFERS_RIGHT,
    REWARD,
    RIGHT,
    SAFE,
)

HIGHER, LOWER = 1, -1
EVERY_TASK = ("*",)
AVERAGED_OVER = "eval/n"
KL_NATS = _("KL, nats per token")


@dataclass(frozen=True)
class Metric:
    """A number that runs record under a key. The title of an unknown one is its key.

    unit: title of the y axis of its charts. direction: HIGHER or LOWER, where better values are; None if neither is
    better. is_share: its values are shares, written in percent. section: slug of the section of a run's page that has
    its chart; that of other keys with its first part if empty. headline: names of the tasks whose runs show it first,
    or EVERY_TASK; options of a task may name it, too. alias: second name of its column in queries, and the name of its
    chart on pages of several runs. fallback_for: key of a metric that pages show instead, where it is recorded.

    Titles other than `title`, if they differ: short, in tables of runs; label, of its value alone, in tiles and
    comparisons; column, among the evaluations of a training. more_is: meaning of a higher value, if it is not better
    or worse by the direction.
    """

    key: str
    title: str
    unit: str = ""
    help: str = ""
    direction: int | None = None
    is_share: bool = False
    section: str = ""
    headline: tuple[str, ...] = ()
    alias: str = ""
    fallback_for: str = ""
    short: str = ""
    label: str = ""
    column: str = ""
    more_is: str = ""

    @property
    def name(self) -> str:
        """Return the name of its chart on pages of several runs."""
        return self.alias or self.key

    @property
    def heading(self) -> str:
        """Return the title of its value alone, in the reader's language."""
        return gettext(self.label or self.title)

    @property
    def higher_is(self) -> str:
        """Return the meaning of a higher value, in the reader's language; "" if it has none."""
        if self.more_is or self.direction is None:
            return gettext(self.more_is) if self.more_is else ""
        return gettext("better") if self.direction == HIGHER else gettext("worse")

    def spoken(self) -> Metric:
        """Return the metric with title, unit and help in the reader's language."""
        unit = self.unit and gettext(self.unit)
        return replace(self, title=gettext(self.title), unit=unit, help=in_words(self.help))


METRICS = (
    Metric(REWARD, _("Held-out reward"), _("reward"),
           _("Mean reward of the responses to held-out prompts. Higher is better, but reward alone can be hacked."),
           HIGHER, headline=EVERY_TASK, alias="reward", short=_("Reward")),
    Metric(RIGHT, _("Accuracy"), SHARE_OF_RESPONSES, RIGHT_HELP, HIGHER, is_share=True, alias="right"),
    Metric(ACCURACY, _("Answer contained"), SHARE_OF_RESPONSES, CONTAINED_HELP, HIGHER, is_share=True,
           alias="accuracy", fallback_for=RIGHT),
    Metric(EXACT, _("Answer equal"), SHARE_OF_RESPONSES, EQUAL_HELP, HIGHER, is_share=True),
    Metric(PREFERS_RIGHT, _("Right answer preferred"), SHARE_OF_PROMPTS, PREFERS_RIGHT_HELP, HIGHER, is_share=True),
    Metric(MARGIN, _("Margin of the right answer"), NATS, MARGIN_HELP, HIGHER),
    Metric(COMPARED, _("Prompts with wrong answers to compare")),
    Metric(KL, _("KL from the base model"), KL_NATS, _("KL(model ‖ base), mean per token: how far the model moved."),
           LOWER, headline=EVERY_TASK, short=_("KL"), label=KL_NATS, more_is=_("farther from the base model")),
    Metric(SAFE, _("Safe ratio"), SHARE_OF_RESPONSES, _("Share of the held-out responses with a cost of 0 or less."),
           HIGHER, is_share=True, column=_("Safe")),
    Metric(COST, _("Cost"), _("cost"), _("Mean over the held-out responses. Above 0, the response is judged harmful."),
           LOWER, more_is=_("more harmful")),
    Metric(PASS, _("pass@1"), SHARE_OF_RESPONSES, is_share=True),
    Metric(AVERAGED_OVER, _("Number averaged over"), column=_("Responses"),
           help=_("Responses of an imported evaluation; seeds of an aggregate.")),
    Metric("response/characters_mean", _("Characters per response"),
           help=_("Mean, without leading and trailing white space.")),
    Metric("response/other_language_ratio", _("Responses in another language"),
           help=_("Share of responses in another language than their prompt, of those where both languages are "
                  "known.")),
    Metric("es/dead", _("Dead iterations"), direction=LOWER,
           help=_("1 where all members scored alike: no fitness spread, so the update is zero.")),
    Metric("es/update_norm", _("Size of the update"),
           help=_("Euclidean norm of the change of all weights in one iteration.")),
    Metric("es/update_bytes_per_member", _("Bytes sent per member"),
           help=_("Bytes sent to each engine for an update, divided by the members of its population.")),
    Metric("es/memory_planned_gb", _("Planned GPU memory, in GB"),
           help=_("Maximum memory of the weights, noise and responses of one engine, planned before the run starts.")),
    Metric("audit/exploitability", _("Exploitability of the reward"), SHARE_OF_PROMPTS,
           _("Largest share of prompts on which an attack without the right answer gets at least 90 % of its reward "
             "while wrong."), LOWER, is_share=True),
    Metric("audit/unearned", _("Largest unearned reward"), _("share of the way"),
           _("Largest share of the way from an honest baseline to the right answer's reward that an attack without the "
             "answer gets."), LOWER, is_share=True),
    Metric("audit/blind_spots", _("Blind spots of the reward"), SHARE_OF_PROMPTS,
           _("Largest share of prompts on which a wrong response that contains the right answer gets at least 90 % of "
             "its reward."), LOWER, is_share=True),
    Metric(CAPTURED, _("Evaluated by captured steps"),
           help=_("1 where captured steps wrote the responses in 16 bits. All such evaluations round alike, but "
                  "otherwise than those without.")),
    Metric("time/step_seconds", _("Seconds per step")),
    Metric("time/engine_idle_seconds", _("Idle seconds of engines"),
           help=_("Per step, while members were evaluated: time that ready engines had no work, summed over all "
                  "engines.")),
)  # fmt: skip

ESTIMATED_METRICS = (
    Metric("accuracy/greedy", _("Greedy accuracy"), SHARE_OF_PROMPTS,
           _("Share of prompts with a correct greedy response."), is_share=True),
    Metric("solutions/coverage", _("Solution coverage"), _("share of solutions"),
           _("Share of all solutions of a prompt that some response gives: mean over the prompts whose solutions can "
             "be listed."), is_share=True),
    Metric(REWARD, _("Reward"), _("reward"), _("Mean over the greedy responses.")),
    Metric(KL, _("KL from the base model"), NATS, _("Exact KL(model ‖ base), mean over sampled tokens.")),
    Metric("entropy", _("Entropy"), NATS, _("Exact entropy of the model, mean over sampled tokens.")),
    Metric("text/self_bleu", _("Self-BLEU"), _("self-BLEU"),
           _("Similarity of the samples of a prompt, mean over prompts. 1: all are alike.")),
    Metric("text/distinct_ratio", _("Distinct texts"), _("share of samples"),
           _("Share of the samples of a prompt that are distinct texts, mean over prompts."), is_share=True),
    Metric("solutions/distinct", _("Distinct solutions"), _("solutions per prompt"),
           _("Distinct correct solutions per prompt, in all of its responses.")),
)  # fmt: skip
"""Metrics that method evaluate estimates with an interval, next to pass@k and pass^k. The page that compares
evaluations shows them; their texts state the responses that this method samples."""

AROUND_STEM = re.compile(r"^(?:prior/[^/]+/|train/|eval/|sample/)+|/(?:low|high|se)\Z")
"""Parts of a key around its stem, which names what it measures: the prior task, the stream, the end of an interval."""
GOOD_DIRECTIONS = {
    "reward": HIGHER, "rewards": HIGHER, "accuracy": HIGHER, "safety": HIGHER, "score": HIGHER, "win_rate": HIGHER,
    "kl": LOWER, "cost": LOWER, "loss": LOWER, "error": LOWER, "perplexity": LOWER,
    "response/empty_ratio": LOWER, "response/clipped_ratio": LOWER,
}  # fmt: skip
"""First parts of keys -> the good direction of the values below them. Other metrics, such as lengths, have none."""
SPREADS = ("std", "reward_std", "n", "se")
"""Last parts of keys that hold a deviation, an error or a count, of which neither direction is good."""
SHARES = re.compile(r"pass[@^]\d+|accuracy/[^/]+")
"""Stems of shares besides the rows and the charts of shares: pass@k and accuracies."""
ROWS = {metric.key: metric for metric in METRICS}
MAX_CACHED = 4096


@lru_cache(MAX_CACHED)
def metric_of(key: str) -> Metric:
    """Return the metric of a key: its row, or one with the key as title and what follows from the row of its stem.

    The ends of an interval are in the section of their estimate.
    """
    if key in ROWS:
        return ROWS[key]
    stem = AROUND_STEM.sub("", key)
    row = ROWS.get(stem) or Metric(
        stem, stem, direction=_family_direction(stem), is_share=SHARES.fullmatch(stem) is not None
    )
    chart = chart_of(key)
    return Metric(
        key, key, unit=row.unit if row.is_share else "",
        direction=None if key.rpartition("/")[2] in SPREADS else row.direction,
        is_share=chart.is_share if chart else row.is_share, section=row.section if key.startswith(stem) else "",
    )  # fmt: skip


def good_direction(key: str) -> int | None:
    """Return HIGHER or LOWER, the direction in which values of this metric are better; None if it is not known."""
    return metric_of(key).direction


def _family_direction(stem: str) -> int | None:
    parts = stem.split("/")
    prefixes = ("/".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((GOOD_DIRECTIONS[prefix] for prefix in prefixes if prefix in GOOD_DIRECTIONS), None)
