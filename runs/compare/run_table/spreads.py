"""Mean of a group's runs, with its standard deviation, standard error or 95 % t-interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.metrics import Provenance
from workers.analysis.aggregate import SPREADS as BANDS
from workers.analysis.student_t import t_quantile

STD, SE, CI = "std", "se", "ci"
SPREADS = {STD: BANDS[STD], SE: BANDS[SE], CI: BANDS[CI]}
"""Spreads that a group's cells can show, with their labels."""
SPREAD_WORDS = {
    STD: _("± is the sample standard deviation of the runs' values."),
    SE: _("± is the standard error of the mean: the sample standard deviation divided by √n."),
    CI: _("± is half of the 95 % t-interval of the mean over the runs' values."),
}


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation of the n runs of a group that have a value; None if there are too few.

    ways: measurement of the values, if they were measured in several ways; mean and deviation are None then.
    is_unread: True if the group has too many runs to read their points; n, mean and deviation are not known then.
    step: the step of last values, None for others. last_steps: the first and the last of the runs' own last steps, if
    these differ or if a run has no finite value at its end; `step` is then the last that all of the runs have, and
    there is no value without one. If has_own_ends, the group has too many runs to read their points, and the values are
    each run's own last.
    """

    n: int
    mean: float | None
    sd: float | None
    ways: tuple[Provenance, ...] = ()
    is_unread: bool = False
    step: int | None = None
    last_steps: tuple[int, int] | None = None
    has_own_ends: bool = False

    def width(self, spread: str) -> float | None:
        """Return the number after ±, by one of SPREADS; None for fewer than two values, or if it is not finite."""
        if self.sd is None or self.n < 2:
            return None
        factors = {STD: 1.0, SE: 1 / math.sqrt(self.n), CI: t_quantile(self.n - 1) / math.sqrt(self.n)}
        width = self.sd * factors[spread]
        return width if math.isfinite(width) else None


def spread_words(spread: str) -> str:
    """Return a sentence that says what ± is."""
    return gettext(SPREAD_WORDS[spread])
