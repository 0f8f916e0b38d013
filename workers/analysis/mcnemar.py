"""Exact McNemar test: do two paired yes-or-no results, such as two models on the same prompts, differ?"""

from __future__ import annotations

import math


def mcnemar_p_value(only_first: int, only_second: int) -> float:
    """Return the two-sided p-value of the exact McNemar test, from the numbers of discordant pairs.

    Without a difference, each discordant pair is equally likely to favour either side: the smaller number is binomial
    with n = only_first + only_second and probability 1/2, and the p-value is twice its lower tail, at most 1 (McNemar
    1947; exact form as in Fagerland, Lydersen and Laake, BMC Medical Research Methodology 13:91, 2013). Pairs on which
    both sides agree do not count. Raise ValueError for a negative number.
    """
    if min(only_first, only_second) < 0:
        raise ValueError(f"needs numbers of pairs, at least 0, not {only_first} and {only_second}")
    n = only_first + only_second
    tail = sum(math.comb(n, i) for i in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / (1 << n))
