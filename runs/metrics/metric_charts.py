"""Charts on the page of a run that draw several metrics together, or one under a name of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from workers.analysis.keys import ACCURACY, EXACT, KL, MARGIN, PASS, PREFERS_RIGHT, REWARD, RIGHT
from workers.analysis.right.validity import validity

SHARE = "share of "
"""Prefix of the English units of shares, which are written in percent."""
SHARE_OF_RESPONSES, SHARE_OF_PROMPTS, NATS = _("share of responses"), _("share of prompts"), _("nats per token")
RIGHT_HELP = _(
    "Share of responses whose answer is right: the last one that the text commits to, negations, hedges and numbers by "
    "value considered. No reward sees it. Against labels of held-out responses, the rule for free text calls "
    "%(right_sensitivity)s of the right ones right, and %(right_specificity)s of the wrong ones wrong (95 %% "
    "intervals, if responses are independent)."
)
CONTAINED_HELP = _(
    "Share of responses that contain the expected answer, also where they deny it. It rewards length: of wrong "
    "responses of more than 60 characters, it calls %(contains_long_specificity)s wrong; of right responses, it calls "
    "%(contains_sensitivity)s right (95 %% intervals, if responses are independent)."
)
EQUAL_HELP = _(
    "Share of responses that equal the expected answer, but for case and outer white space. It rewards brevity: of "
    "right responses, it calls %(exact_sensitivity)s right (95 %% interval, if they are independent)."
)
PREFERS_RIGHT_HELP = _(
    "Share of the prompts with known wrong answers on which the model finds the right answer likelier than each wrong "
    "one: by the mean log-probability per token, as the whole response. No response is read, so its length has no "
    "effect."
)
MARGIN_HELP = _(
    "Log-probability per token of the right answer minus that of the likeliest wrong one, mean over the prompts with "
    "known wrong answers. Negative: a wrong answer is likelier."
)
BY_TIME = "relative"
"""The axis of series that are measured every few seconds."""
SCORING = "time/scoring_seconds"


@dataclass(frozen=True)
class MetricChart:
    """A chart on the page of a run. lines: (key, name of its line). x: its fixed axis, empty for the page's axis."""

    name: str
    title: str
    unit: str
    lines: tuple[tuple[str, str], ...]
    help: str = ""
    x: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(key for key, _ in self.lines)

    @property
    def is_share(self) -> bool:
        """Return whether the values are shares."""
        return self.unit.startswith(SHARE)


PHASES = MetricChart(
    "time/phases", _("Seconds by phase"), _("engine-seconds"),
    (("time/decode_seconds", _("decode")), ("time/prefill_seconds", _("prefill")), ("time/noise_seconds", _("noise")),
     ("time/update_seconds", _("update")), (SCORING, _("scoring"))),
    _("Seconds of one iteration, summed over all engines, each on one device (GPU-seconds on a GPU). Decode writes the "
      "responses, prefill reads the prompts, noise creates the members, update changes the weights. An idle engine "
      "waits for scores or for other engines. Scoring is a line, because it runs while engines decode. The update of "
      "engines other than the training process counts in the next iteration."),
)  # fmt: skip
CHARTS = {
    "held-out": (
        MetricChart("reward", _("Reward"), _("reward"), ((REWARD, _("mean")), (f"sample/{REWARD}", _("sampled"))),
                    _("Mean over held-out prompts; the legend names the responses.")),
        MetricChart("accuracy", _("Accuracy"), SHARE_OF_RESPONSES,
                    ((RIGHT, _("right")), (f"sample/{RIGHT}", _("sampled"))), RIGHT_HELP),
        MetricChart("expected-answer", _("Expected answer in the response"), SHARE_OF_RESPONSES,
                    ((ACCURACY, _("contains")), (EXACT, _("equals")), (f"sample/{ACCURACY}", _("sampled"))),
                    CONTAINED_HELP),
        MetricChart("likelihood", _("Right answer preferred"), SHARE_OF_PROMPTS, ((PREFERS_RIGHT, _("preferred")),),
                    PREFERS_RIGHT_HELP),
        MetricChart("margin", _("Margin of the right answer"), NATS, ((MARGIN, _("margin")),), MARGIN_HELP),
        MetricChart("kl", _("KL from the base model"), NATS, ((KL, _("KL")), (f"{KL}/k3", _("KL"))),
                    _("KL(model ‖ base). Exact: over the whole vocabulary at each token. k3: Schulman's "
                      "estimate (r − 1) − log r from the sampled tokens alone.")),
        MetricChart("length", _("Response length"), _("tokens"), (("response/tokens_mean", _("tokens")),),
                    _("Mean over held-out prompts.")),
        MetricChart("degenerate", _("Empty and clipped responses"), SHARE_OF_RESPONSES,
                    (("response/empty_ratio", _("empty")), ("response/clipped_ratio", _("clipped at the limit")))),
    ),
    "passes": (
        MetricChart("pass-1", PASS, SHARE_OF_RESPONSES,
                    ((PASS, _("estimate")), (f"{PASS}/low", _("low")), (f"{PASS}/high", _("high"))),
                    _("Probability that a sampled response is correct: mean over prompts, with its 95 % interval.")),
    ),
    "training": (
        MetricChart("train/reward", _("Training reward"), _("reward"),
                    (("train/reward/mean", _("mean")), ("train/reward/max", _("best")),
                     ("train/reward/min", _("worst"))),
                    _("Over the population's members (ES) or the sampled completions (GRPO). Not comparable between "
                      "methods.")),
        MetricChart("train/kl", _("KL from the reference model"), NATS,
                    (("train/kl", _("kl of the loss")), ("train/kl/k1", "k1"), ("train/kl/k2", "k2"),
                     ("train/kl/k3", "k3")),
                    _("Estimates of KL(policy ‖ reference) from the completions' tokens, at the sampling temperature. "
                      "k1 and k3 are unbiased, k2 is not. The loss contains k3.")),
        MetricChart("train/entropy", _("Entropy of the policy"), NATS,
                    (("train/entropy", _("exact")), ("train/entropy/sampled", _("sampled"))),
                    _("At the completions' tokens and the sampling temperature. Exact: over the whole vocabulary. "
                      "Sampled: the mean of −log π of the sampled tokens.")),
        MetricChart("train/sampling/kl", _("KL from sampler to trainer"), NATS,
                    (("train/sampling/kl_k1", "k1"), ("train/sampling/kl_k3", "k3")),
                    _("Estimates of KL(sampler ‖ trainer), if another engine samples the completions. It is 0 if both "
                      "compute the same probabilities.")),
        MetricChart("train/groups/zero_variance", _("Groups without variance"), _("share of groups"),
                    (("train/groups/zero_variance", _("all rewards equal")),),
                    _("Share of the groups whose completions all have the same reward. Their advantages are 0.")),
    ),
    "phases": (
        PHASES,
        MetricChart("es/tokens_per_second", _("Tokens per second"), _("tokens/s"),
                    (("es/tokens_per_second", "es/tokens_per_second"),),
                    _("Tokens generated in an iteration by all engines, divided by the seconds until its last "
                      "response.")),
    ),
    "system": (
        MetricChart("system/cpu", _("CPU cores in use"), _("cores"), (("system/cpu_cores", _("this run")),),
                    _("CPU seconds per second, of all processes of the training together."), BY_TIME),
        MetricChart("system/memory", _("Memory"), _("GB"),
                    (("system/memory_gb", _("this run")), ("system/free_memory_gb", _("free on the machine"))),
                    _("Resident memory of all processes of the training. Shared memory counts for each process."),
                    BY_TIME),
    ),
    "gpus": (
        MetricChart("system/gpu-busy", _("GPU in use"), _("share of time"), (("system/{gpu}/busy", "{gpu}"),),
                    _("Share of time in which the GPU was active, reported by its driver."), BY_TIME),
        MetricChart("system/gpu-memory_gb", _("GPU memory"), _("GB"), (("system/{gpu}/memory_gb", "{gpu}"),),
                    _("Used memory of the whole GPU, including other programs."), BY_TIME),
        MetricChart("system/gpu-watts", _("GPU power"), _("W"), (("system/{gpu}/watts", "{gpu}"),),
                    _("Power drawn by the whole GPU."), BY_TIME),
    ),
}  # fmt: skip
"""Section of the page -> its charts. {gpu} stands for each GPU; these charts are next to the phases, or in system."""
VALIDITY_MARK = "%("
GPU = re.compile(r"system/gpu\d+/")
CHARTS_BY_KEY = {key: chart for charts in CHARTS.values() for chart in charts for key in chart.keys}


def in_words(help_text: str) -> str:
    """Return a help text in the reader's language, with the measured validity of the metric if it states that."""
    if VALIDITY_MARK not in help_text:
        return gettext(help_text) if help_text else ""
    return gettext(help_text) % {
        "right_sensitivity": validity("right").sensitivity,
        "right_specificity": validity("right").specificity,
        "contains_sensitivity": validity("contains").sensitivity,
        "contains_long_specificity": validity("contains", length="> 60").specificity,
        "exact_sensitivity": validity("exact").sensitivity,
    }


def chart_of(key: str) -> MetricChart | None:
    """Return the chart that draws a key on the page of a run; None if the key has a chart of its own."""
    return CHARTS_BY_KEY.get(GPU.sub("system/{gpu}/", key))
