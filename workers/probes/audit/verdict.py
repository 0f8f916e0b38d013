"""The audit of a model's change: its verdict, the reason, and the strongest pairs of tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from workers.probes.audit.cosines import MIN_ELEMENTS, Cosines, Floats, cosines
from workers.probes.audit.lags import MIN_COSINE, Shifted, ShiftedPair, shifted_pairs
from workers.probes.audit.tail import critical_value
from workers.probes.geometry.changes import Changes
from workers.probes.weights import Subject, WeightsDiffer, open_pair
from workers.records import Probe, ProbeValue

SHARED_COSINE, SHARED_COSINE_OF_VECTORS = MIN_COSINE, 0.9
"""Absolute cosine from which two tensors share their noise, if it is also outside of the corrected band; the second one
if one of them is a vector. Shared noise gives 1, and −1 if it is negated, and less after rounding to 16 bits. Gradients
move norms of different layers together, on the tiny model with cosines up to 0.57, but not matrices."""
THRESHOLDS = f"{SHARED_COSINE:g} ({SHARED_COSINE_OF_VECTORS:g} with a vector)"
LEVEL = 0.01
"""Probability that any pair of a model with independent noise is outside of the corrected band (Bonferroni); also that
any pair of blocks is so at any lag."""
BAND = 3.0
"""Half width of the band of a single pair, in units of 1/√n."""
EXPECTED_OUTSIDE = math.erfc(BAND / math.sqrt(2))
"""Share of normal numbers outside of the band of a single pair: 0.27 %."""
MAX_PAIRS = 200


def band(n: int) -> float:
    """Return the half width of the band of a single pair, 3/√n."""
    return BAND / math.sqrt(n)


Verdict = Literal["shared", "independent", "correlated", "undecided"]


@dataclass(frozen=True)
class Pair:
    """Two tensors, the cosine of their changes in n elements, and whether it is outside of the corrected band."""

    first: str
    second: str
    cosine: float
    n: int
    is_outside: bool


@dataclass(frozen=True)
class Audit:
    """The verdict and its reason, a sentence.

    `pairs` counts the pairs compared, `outside` those outside of the corrected band, and `outside_share` is the share
    of pairs outside of ±3/√n, 0.27 % of normal ones. `strongest` are the pairs of the largest |cosine| √n. `groups` are
    the tensors that share their noise. `unchanged` and `small` count tensors that were not compared.
    """

    verdict: Verdict
    reason: str
    tensors: int
    pairs: int
    outside: int
    outside_share: float | None
    strongest: tuple[Pair, ...]
    groups: tuple[tuple[str, ...], ...]
    unchanged: int
    small: int
    shifted: tuple[ShiftedPair, ...] = ()


def audit(base: Path, tuned: Path) -> Audit:
    """Compare the changes of all tensors with each other. Raise WeightsDiffer for different architectures.

    Weights in 16 bits round away changes below half a unit in the last place. What is left of shared noise has smaller
    cosines, so that weak noise may be `correlated`, or `independent` if hardly any element changed.
    """
    with open_pair(base, tuned) as (first, second, names):
        changes = Changes(first, second, names)
        compared = cosines(changes)
        return _audit_of(compared, _shared_at_a_lag(shifted_pairs(changes, compared.names), changes))


def audit_probe(subject: Subject) -> Iterator[Probe]:
    """Yield shared_noise with the verdict and the strongest pairs; nothing if no two tensors can be compared.

    The null is 0 ± 3/√n of a single pair. Raise WeightsDiffer if the subject has no base, or one of another
    architecture.
    """
    if subject.base is None:
        raise WeightsDiffer(f"{subject} has no base model from which its weights could have changed")
    result = audit(subject.base, subject.tuned)
    strongest: list[Pair | ShiftedPair] = [*result.shifted, *result.strongest]
    values = tuple(
        ProbeValue(p.cosine, p.n, p.first, p.second, null=0.0, null_low=-band(p.n), null_high=band(p.n))
        for p in strongest[:MAX_PAIRS]
    )
    if values:
        yield Probe(subject.step, "audit", "shared_noise", str(subject), values, verdict=result.verdict)


def _shared_at_a_lag(shifted: Shifted, changes: Changes) -> tuple[ShiftedPair, ...]:
    """Return the pairs of blocks that share their noise at a lag other than 0, the strongest first."""

    def is_shared(pair: ShiftedPair) -> bool:
        has_vector = any(len(changes.shapes[name]) < 2 for name in (pair.first, pair.second))
        lowest = SHARED_COSINE_OF_VECTORS if has_vector else SHARED_COSINE
        critical = critical_value(LEVEL / shifted.comparisons, pair.kurtosis)
        return pair.lag != 0 and abs(pair.cosine) >= lowest and abs(pair.cosine) * math.sqrt(pair.n) > critical

    return tuple(sorted(filter(is_shared, shifted.pairs), key=lambda pair: -abs(pair.cosine) * math.sqrt(pair.n)))


def _audit_of(compared: Cosines, shifted: tuple[ShiftedPair, ...]) -> Audit:
    counts = len(compared.unchanged), len(compared.small)
    pairs = len(compared.cosine)
    if not pairs:
        reason = (
            f"no two tensors can be compared: {len(compared.names)} with at least {MIN_ELEMENTS} elements changed, "
            f"{counts[0]} did not, and {counts[1]} are smaller"
        )
        return Audit("undecided", reason, len(compared.names), 0, 0, None, (), (), *counts)
    strength = np.abs(compared.cosine) * np.sqrt(compared.n)
    is_outside = _outside(compared, strength)
    lowest = np.where(compared.has_vector, SHARED_COSINE_OF_VECTORS, SHARED_COSINE)
    is_shared = is_outside & (np.abs(compared.cosine) >= lowest)
    position = {name: i for i, name in enumerate(compared.names)}
    edges = [*zip(compared.first[is_shared], compared.second[is_shared], strict=True)]
    groups = _components(compared.names, edges + [(position[p.first], position[p.second]) for p in shifted])
    strongest = tuple(
        Pair(
            compared.names[compared.first[i]],
            compared.names[compared.second[i]],
            float(compared.cosine[i]),
            int(compared.n[i]),
            bool(is_outside[i]),
        )
        for i in np.argsort(-strength, kind="stable")[:MAX_PAIRS]
    )
    outside = int(is_outside.sum())
    verdict, reason = _conclusion(pairs, outside, int(is_shared.sum()), groups, shifted)
    share = float((strength > BAND).mean())
    return Audit(verdict, reason, len(compared.names), pairs, outside, share, strongest, groups, *counts, shifted)


def _outside(compared: Cosines, strength: Floats) -> NDArray[np.bool_]:
    """Return for each pair whether its cosine is outside of the corrected band, bool[pairs]."""
    probability = LEVEL / len(strength)
    # Low ranks only widen the band, so that most pairs are decided by the normal one.
    is_outside = strength > critical_value(probability, 0.0)
    for i in np.flatnonzero(is_outside):
        is_outside[i] = strength[i] > critical_value(probability, float(compared.kurtosis[i]))
    return is_outside


def _conclusion(
    pairs: int, outside: int, shared: int, groups: Sequence[Sequence[str]], shifted: Sequence[ShiftedPair]
) -> tuple[Verdict, str]:
    tensors = f"{sum(map(len, groups))} tensors in {len(groups)} groups share their noise"
    if shared:
        return "shared", (
            f"{shared} of {pairs} pairs of tensors have a cosine of at least ±{THRESHOLDS} that chance does not give; "
            f"{tensors}"
        )
    if shifted:
        first, second, lag = shifted[0].first, shifted[0].second, shifted[0].lag
        return "shared", (
            f"{len(shifted)} pairs of blocks of tensors have a cosine of their signs of at least ±{THRESHOLDS} if one "
            f"is shifted, the strongest, {first} and {second}, by {lag} elements; {tensors}"
        )
    if outside:
        return "correlated", (
            f"{outside} of {pairs} pairs of tensors have a cosine outside of the band of independent noise, none of at "
            f"least ±{THRESHOLDS}; training by gradients gives such correlations, and so does shared noise that is "
            "only a part of the change or was rounded away"
        )
    return "independent", (
        f"all {pairs} cosines lie within the band of independent noise at a level of {LEVEL:.0%} for all pairs "
        "together, and no sampled block is another one that is shifted"
    )


def _components(names: Sequence[str], edges: Sequence[tuple[int, int]]) -> tuple[tuple[str, ...], ...]:
    """Return the connected groups of tensors, the largest first."""
    parent = list(range(len(names)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for first, second in edges:
        parent[root(int(first))] = root(int(second))
    members: dict[int, list[str]] = {}
    for i in sorted({int(i) for edge in edges for i in edge}):
        members.setdefault(root(i), []).append(names[i])
    return tuple(sorted((tuple(group) for group in members.values()), key=lambda group: (-len(group), group)))
