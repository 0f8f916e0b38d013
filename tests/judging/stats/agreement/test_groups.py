"""Raters of one kind against each other and against another kind, and what each does to α."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats import inter_rater

from judging.stats.agreement import NO_DECISION, NOT_FIXED, NOTHING_SHARED, among, between, pair, together, without_each
from judging.stats.agreement.alpha import alpha, coincidences
from judging.stats.agreement.groups import only
from judging.stats.agreement.labels import NOTHING
from tests.judging.synthetic_votes import table

W, T, L, _ = 0, 1, 2, NOTHING
SAID = table(
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


def test_two_of_one_kind_agree_as_the_two_alone_do():
    found = among(SAID, PEOPLE)
    assert (found.items, found.meetings) == (5, 5)
    assert found.raw.value == pytest.approx(3 / 5)
    assert found.without_ties.value == pytest.approx(2 / 3)
    assert found.kappa == pair(SAID, *PEOPLE).kappa
    alone = together(only(SAID, PEOPLE))
    assert found.alpha_nominal == alone.alpha_nominal and found.alpha_ordinal == alone.alpha_ordinal


def test_two_kinds_meet_one_of_each_side_a_time():
    found = between(SAID, PEOPLE, MODELS)
    # Items of four raters have four meetings; the fifth has two, the sixth none of a person's.
    assert (found.items, found.meetings) == (5, 18)
    assert found.raw.value == pytest.approx((2 + 2 + 0 + 2 + 1) / 18)


def test_kappa_of_three_is_fleiss_where_all_judged_the_same_and_is_not_where_some_did_not():
    rng = np.random.default_rng(1)
    said = rng.integers(0, 3, (4, 40))
    found = among(table(said), range(4))
    counted = np.array([np.bincount(column, minlength=3) for column in said.T])
    assert found.kappa.value == pytest.approx(inter_rater.fleiss_kappa(counted), abs=1e-9)
    assert found.kappa.low < found.kappa.value < found.kappa.high
    assert among(SAID, range(4)).kappa.why == NOT_FIXED


def by_hand(labels, people, models, apart) -> float:
    """Krippendorff's α of labels that met across two sides, each item worth as many labels as it has."""
    values, observed, total = np.zeros(3), 0.0, 0.0
    for item in range(len(labels.prompt)):
        left, right = ([said for k in side if (said := labels.row(k)[item]) != NOTHING] for side in (people, models))
        met = [(one, other) for one in left for other in right]
        for one, other in met:
            worth = (len(left) + len(right)) / len(met)
            observed, total = observed + worth * apart(one, other), total + worth
            values[one] += worth / 2
            values[other] += worth / 2
    chance = sum(values[i] * values[j] * apart(i, j) for i in range(3) for j in range(3)) / (total - 1)
    return 1 - observed / chance


def test_alpha_of_two_kinds_is_of_one_label_of_each_side():
    found = between(SAID, PEOPLE, MODELS)
    assert found.alpha_nominal.value == pytest.approx(by_hand(SAID, PEOPLE, MODELS, lambda i, j: i != j), abs=1e-9)
    assert found.alpha_nominal.low <= found.alpha_nominal.value <= found.alpha_nominal.high
    one = between(SAID, (0,), (2,))
    alone = together(only(SAID, (0, 2)))
    assert (one.alpha_nominal, one.alpha_ordinal) == (alone.alpha_nominal, alone.alpha_ordinal)


def test_alpha_of_two_kinds_is_about_0_where_one_of_them_guesses():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, 2000)
    guesses = [rng.integers(0, 3, 2000) for _ in range(2)]
    found = between(table(np.array([truth, truth, *guesses])), PEOPLE, MODELS)
    assert found.alpha_nominal.low < 0 < found.alpha_nominal.high
    assert found.alpha_ordinal.value == pytest.approx(0, abs=0.05)


def test_kappa_of_two_kinds_is_cohens_of_all_their_meetings():
    found = between(SAID, PEOPLE, MODELS).kappa.value
    crossed = np.zeros((3, 3))
    for person in PEOPLE:
        for model in MODELS:
            for item in range(6):
                one, other = SAID.row(person)[item], SAID.row(model)[item]
                if NOTHING not in (one, other):
                    crossed[one, other] += 1
    assert found == pytest.approx(inter_rater.cohens_kappa(crossed).kappa, abs=1e-9)


def test_one_of_each_kind_are_a_pair():
    one = between(SAID, (0,), (2,))
    crossed = np.array([[2, 0, 0], [1, 0, 0], [0, 0, 1]]) + np.diag([1, 0, 0])
    assert one.kappa.value == pytest.approx(inter_rater.cohens_kappa(crossed).kappa, abs=1e-9)


def test_a_kind_of_which_there_is_one_or_none_has_nothing_to_agree_on():
    for nobody in (among(SAID, (0,)), among(SAID, ()), between(SAID, PEOPLE, ())):
        assert (nobody.items, nobody.raw.value, nobody.raw.why) == (0, None, NOTHING_SHARED)
    tied = table(np.array([[T, T], [T, T]]))
    assert among(tied, (0, 1)).without_ties.why == NO_DECISION


def test_leaving_out_who_judges_by_chance_lifts_alpha():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    noisy = [np.where(rng.random(300) < 0.2, rng.integers(0, 3, 300), truth) for _ in range(3)]
    said = table(np.array([*noisy, rng.integers(0, 3, 300)]))
    found = without_each(said)
    assert [one.rise.value > 0 for one in found] == [False, False, False, True]
    worst = found[-1]
    assert worst.rise.low > 0 and worst.labels == 300
    assert worst.alpha_ordinal == pytest.approx(
        float(alpha(coincidences(only(said, (0, 1, 2))).sum(axis=0), "ordinal")), abs=1e-12
    )
    assert worst.rise.value == pytest.approx(worst.alpha_ordinal - together(said).alpha_ordinal.value, abs=1e-12)


def test_of_two_raters_nobody_is_left_out():
    assert without_each(table(np.array([[W, L], [W, W]]))) == []
