"""Agreement among raters of one kind and between two kinds, and each rater's effect on α."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats import inter_rater

from judging.stats.agreement import (
    NO_DECISION,
    NOT_FIXED,
    NOTHING_SHARED,
    agreement_between,
    agreement_within,
    compare_raters,
    overall_agreement,
    rater_contributions,
)
from judging.stats.agreement.alpha import alpha, coincidences
from judging.stats.agreement.groups import select_raters
from judging.stats.agreement.labels import NO_LABEL
from tests.judging.synthetic_votes import table

W, T, L, _ = 0, 1, 2, NO_LABEL
LABELS = table(
    np.array(
        [
            [W, W, T, L, W, _],
            [W, L, T, L, T, _],
            [W, W, W, L, W, L],
            [L, L, W, W, _, T],
        ]
    )
)
PEOPLE, MODELS = (0, 1), (2, 3)


def test_agreement_among_two_raters_equals_pair():
    agreement = agreement_within(LABELS, PEOPLE)
    assert (agreement.items, agreement.meetings) == (5, 5)
    assert agreement.raw.value == pytest.approx(3 / 5)
    assert agreement.without_ties.value == pytest.approx(2 / 3)
    assert agreement.kappa == compare_raters(LABELS, *PEOPLE).kappa
    alone = overall_agreement(select_raters(LABELS, PEOPLE))
    assert agreement.alpha_nominal == alone.alpha_nominal and agreement.alpha_ordinal == alone.alpha_ordinal


def test_agreement_between_groups_counts_cross_meetings():
    agreement = agreement_between(LABELS, PEOPLE, MODELS)
    # Items of four raters have four meetings; the fifth has two, the sixth none with a human.
    assert (agreement.items, agreement.meetings) == (5, 18)
    assert agreement.raw.value == pytest.approx((2 + 2 + 0 + 2 + 1) / 18)


def test_kappa_of_several_raters_is_fleiss_when_complete():
    rng = np.random.default_rng(1)
    values = rng.integers(0, 3, (4, 40))
    agreement = agreement_within(table(values), range(4))
    counted = np.array([np.bincount(column, minlength=3) for column in values.T])
    assert agreement.kappa.value == pytest.approx(inter_rater.fleiss_kappa(counted), abs=1e-9)
    assert agreement.kappa.low < agreement.kappa.value < agreement.kappa.high
    assert agreement_within(LABELS, range(4)).kappa.why == NOT_FIXED


def by_hand(labels, people, models, apart) -> float:
    """Return Krippendorff's α of labels across two sides, each item weighted by its number of labels."""
    values, observed, total = np.zeros(3), 0.0, 0.0
    for item in range(len(labels.prompt)):
        left, right = ([label for k in side if (label := labels.row(k)[item]) != NO_LABEL] for side in (people, models))
        met = [(first, second) for first in left for second in right]
        for first, second in met:
            worth = (len(left) + len(right)) / len(met)
            observed, total = observed + worth * apart(first, second), total + worth
            values[first] += worth / 2
            values[second] += worth / 2
    chance = sum(values[i] * values[j] * apart(i, j) for i in range(3) for j in range(3)) / (total - 1)
    return 1 - observed / chance


def test_alpha_between_groups_matches_computation_by_hand():
    agreement = agreement_between(LABELS, PEOPLE, MODELS)
    assert agreement.alpha_nominal.value == pytest.approx(
        by_hand(LABELS, PEOPLE, MODELS, lambda i, j: i != j), abs=1e-9
    )
    assert agreement.alpha_nominal.low <= agreement.alpha_nominal.value <= agreement.alpha_nominal.high
    crossed = agreement_between(LABELS, (0,), (2,))
    alone = overall_agreement(select_raters(LABELS, (0, 2)))
    assert (crossed.alpha_nominal, crossed.alpha_ordinal) == (alone.alpha_nominal, alone.alpha_ordinal)


def test_alpha_between_groups_is_zero_for_guesses():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, 2000)
    guesses = [rng.integers(0, 3, 2000) for _ in range(2)]
    agreement = agreement_between(table(np.array([truth, truth, *guesses])), PEOPLE, MODELS)
    assert agreement.alpha_nominal.low < 0 < agreement.alpha_nominal.high
    assert agreement.alpha_ordinal.value == pytest.approx(0, abs=0.05)


def test_kappa_between_groups_is_cohens_over_meetings():
    kappa = agreement_between(LABELS, PEOPLE, MODELS).kappa.value
    crossed = np.zeros((3, 3))
    for person in PEOPLE:
        for model in MODELS:
            for item in range(6):
                first, second = LABELS.row(person)[item], LABELS.row(model)[item]
                if NO_LABEL not in (first, second):
                    crossed[first, second] += 1
    assert kappa == pytest.approx(inter_rater.cohens_kappa(crossed).kappa, abs=1e-9)


def test_kappa_between_single_raters_is_cohens():
    agreement = agreement_between(LABELS, (0,), (2,))
    crossed = np.array([[2, 0, 0], [1, 0, 0], [0, 0, 1]]) + np.diag([1, 0, 0])
    assert agreement.kappa.value == pytest.approx(inter_rater.cohens_kappa(crossed).kappa, abs=1e-9)


def test_agreement_of_too_few_raters_is_undefined():
    for nobody in (agreement_within(LABELS, (0,)), agreement_within(LABELS, ()), agreement_between(LABELS, PEOPLE, ())):
        assert (nobody.items, nobody.raw.value, nobody.raw.why) == (0, None, NOTHING_SHARED)
    tied = table(np.array([[T, T], [T, T]]))
    assert agreement_within(tied, (0, 1)).without_ties.why == NO_DECISION


def test_leaving_out_random_rater_raises_alpha():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    noisy = [np.where(rng.random(300) < 0.2, rng.integers(0, 3, 300), truth) for _ in range(3)]
    labels = table(np.array([*noisy, rng.integers(0, 3, 300)]))
    rises = rater_contributions(labels)
    assert [rise.rise.value > 0 for rise in rises] == [False, False, False, True]
    worst = rises[-1]
    assert worst.rise.low > 0 and worst.labels == 300
    assert worst.alpha_ordinal == pytest.approx(
        float(alpha(coincidences(select_raters(labels, (0, 1, 2))).sum(axis=0), "ordinal")), abs=1e-12
    )
    assert worst.rise.value == pytest.approx(
        worst.alpha_ordinal - overall_agreement(labels).alpha_ordinal.value, abs=1e-12
    )


def test_no_rater_of_two_is_left_out():
    assert rater_contributions(table(np.array([[W, L], [W, W]]))) == []
