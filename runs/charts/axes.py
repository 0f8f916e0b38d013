"""The measures that experiments are compared by, and how their charts are drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.metrics import Span
from workers.analysis.bands import AUTO

REWARD, KL, ACCURACY = "reward/mean", "kl", "accuracy/contains"


@dataclass(frozen=True)
class Measure:
    """A held-out number of the centre weights, which both methods have."""

    name: str
    key: str
    title: str
    unit: str
    help: str
    is_share: bool = False

    def spoken(self) -> Measure:
        """With its words in the reader's language."""
        return replace(self, title=gettext(self.title), unit=gettext(self.unit), help=gettext(self.help))


MEASURES = (
    Measure(
        "reward", REWARD, _("Held-out reward"), _("reward"),
        _("Mean reward of the answers to held-out prompts. Higher is better; on its own it can be hacked."),
    ),
    Measure(
        "kl", KL, _("KL from the base model"), _("KL, nats per token"),
        _("KL(model ‖ base), mean per token: how far the model moved."),
    ),
    Measure(
        "accuracy", ACCURACY, _("Accuracy"), _("share of answers"),
        _("Share of answers that contain the right one. Reward up and this down: the reward is being hacked."),
        is_share=True,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Look:
    """Describe how the charts are drawn: x, one of X_AXES; center, one of MIDDLES; spread, `auto` or one of SPREADS;
    px, how many pixels wide, so that no more is sent than can be seen; zoom, the x range that is shown. Means and bands
    are computed from all points."""

    x: str = "step"
    log_kl: bool = False
    center: str = "mean"
    spread: str = AUTO
    px: int | None = None
    zoom: Span | None = None
