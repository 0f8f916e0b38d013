"""Mean of a group's runs, with its standard deviation, standard error or 95 % t-interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.metrics import Provenance
from workers.analysis.aggregate import SPREADS as BANDS

STD, SE, CI = "std", "se", "ci"
SPREADS = {STD: BANDS[STD], SE: BANDS[SE], CI: _("95 % interval")}
"""Spreads that a group's cells can show, with their labels."""
SPREAD_WORDS = {
    STD: _("± is the sample standard deviation of the runs' values."),
    SE: _("± is the standard error of the mean: the sample standard deviation divided by √n."),
    CI: _("± is half of the 95 % t-interval of the mean over the runs' values."),
}
CONFIDENCE = 0.95
EXACT_FREEDOM = 30
"""Degrees of freedom up to which the quantile of t is exact. Above, the error of its series is below 1e-7."""
HALVINGS = 60


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation of the n runs of a group that have a value; None if there are too few.

    ways: measurement of the values, if they were measured in several ways; mean and deviation are None then.
    is_unread: True if the group has too many runs to read their points; n, mean and deviation are not known then.
    """

    n: int
    mean: float | None
    sd: float | None
    ways: tuple[Provenance, ...] = ()
    is_unread: bool = False

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


@cache
def t_quantile(freedom: int) -> float:
    """Return the number that Student's t stays below in absolute value with probability CONFIDENCE."""
    if freedom > EXACT_FREEDOM:
        return _series(NormalDist().inv_cdf((1 + CONFIDENCE) / 2), freedom)
    low, high = 0.0, math.pi / 2
    for _step in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _probability(middle, freedom) < CONFIDENCE else (low, middle)
    return math.tan(low) * math.sqrt(freedom)


def _probability(angle: float, freedom: int) -> float:
    """Return the probability of |t| < tan(angle) √freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    cosine, sine = math.cos(angle), math.sin(angle)
    is_odd = freedom % 2
    term = cosine if is_odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + is_odd, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + sine * total) if is_odd else sine * total


def _series(z: float, freedom: int) -> float:
    """Return the quantile of t from that of the normal distribution (Abramowitz and Stegun, 26.7.5)."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(freedom) ** power for power, term in enumerate(terms, 1))
