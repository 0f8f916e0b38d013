"""Verdicts in the database as votes: equal to those of a file, for every kind of rater."""

from __future__ import annotations

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from judging.boards import VerdictFilter, votes_in
from judging.models import Calibration, ChosenPrompt, Judge, Rubric, Side, Tournament, Verdict
from judging.stats.ratings import compute_board
from judging.stats.votes import Judgment, Outcome, fastchat_lines, read_judgments, votes_by_criterion
from runs.models import Experiment, Response
from tests.judging.bulk_verdicts import a_before_b, add_judge_verdicts, cast, first_votes
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import make_gold_set, make_tournament, rubric

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return make_tournament(ada, experiment, prompts=12, contestants=4)


@pytest.fixture
def helpful(tournament: Tournament) -> Rubric:
    return rubric("helpfulness")


def model_judge(owner: User, name: str = "judge") -> Judge:
    return Judge.objects.create(name=name, owner=owner, base_url="http://localhost:1", model="m", digest="d")


def test_votes_match_cast_verdicts(tournament: Tournament, helpful: Rubric) -> None:
    cast_votes = first_votes(make_random_votes(150, contestants=4, prompts=12))
    cast(tournament, helpful, cast_votes)
    cast(tournament, rubric("harmlessness"), cast_votes.select(np.arange(5)))

    votes, expected = votes_in(tournament, helpful), a_before_b(cast_votes)

    assert votes.contestants == tuple(sorted(contestant.name for contestant in tournament.contestants.all()))
    for name in ("a", "b", "outcome", "shown_first"):
        assert getattr(votes, name).tolist() == getattr(expected, name).tolist(), name
    assert [votes.prompts[k] for k in votes.prompt] == [cast_votes.prompts[k] for k in cast_votes.prompt]
    assert [votes.annotators[k] for k in votes.annotator] == [f"person {k + 1}" for k in cast_votes.annotator]
    assert not any("secret" in name for name in votes.annotators)


def test_board_hash_equals_that_of_same_votes_in_file(tournament: Tournament, helpful: Rubric) -> None:
    cast(tournament, helpful, first_votes(make_random_votes(150, contestants=4, prompts=12)))

    votes = votes_in(tournament, helpful)
    names, first = votes.contestants, votes.shown_first
    judgments = [
        Judgment(
            names[a], names[b], "helpfulness", votes.prompts[prompt], votes.annotators[annotator], verdict=Outcome(out)
        )
        for a, b, prompt, annotator, out in zip(
            votes.a, votes.b, votes.prompt, votes.annotator, votes.outcome, strict=True
        )
    ]
    read_back = votes_by_criterion(
        read_judgments("\n".join(fastchat_lines(judgments)), "votes.jsonl").judgments, "helpfulness"
    )

    assert set(first.tolist()) == {1, -1}
    assert compute_board(votes).hash == compute_board(read_back).hash


def test_votes_exclude_replaced_skipped_and_gold_verdicts(ada: User, experiment: Experiment) -> None:
    tournament, helpful = make_tournament(ada, experiment, gold_set=make_gold_set(ada)), rubric("helpfulness")
    verdicts = cast(tournament, helpful, first_votes(make_random_votes(9, contestants=3, prompts=4)))
    Verdict.objects.filter(pk=verdicts[0].pk).update(replaced_at=timezone.now())
    Verdict.objects.filter(pk=verdicts[1].pk).update(outcome="skip")
    gold_comparison = tournament.comparisons.exclude(gold_pair=None).first()
    Verdict.objects.create(comparison=gold_comparison, rubric=helpful, voter=verdicts[0].voter, outcome="a")

    assert len(votes_in(tournament, helpful)) == len(verdicts) - 2


def test_votes_include_calibrated_judge_once(ada: User, tournament: Tournament, helpful: Rubric) -> None:
    judge = add_judge_verdicts(tournament, helpful, judge=model_judge(ada))
    again = Verdict.objects.filter(judge=judge).first()
    assert again is not None
    Verdict.objects.create(comparison=again.comparison, rubric=helpful, judge=judge, outcome="b", first="a", sample=1)

    assert len(votes_in(tournament, helpful)) == 0
    Calibration.objects.create(judge=judge, rubric=helpful, gold_set=make_gold_set(ada), passes=True, measured={})

    votes = votes_in(tournament, helpful)
    assert votes.annotators == ("judge",)
    assert len(votes) == 12 * 6 == votes.count_outcome(Outcome.A)


def test_votes_respect_verdict_filter(ada: User, tournament: Tournament, helpful: Rubric) -> None:
    cast(tournament, helpful, first_votes(make_random_votes(20, contestants=4, prompts=12)))
    rules = add_judge_verdicts(tournament, helpful)

    every, people = votes_in(tournament, helpful), votes_in(tournament, helpful, verdict_filter=VerdictFilter("people"))
    judges, single = (
        votes_in(tournament, helpful, verdict_filter=VerdictFilter.parse(word))
        for word in ("judges", f"judge-{rules.pk}")
    )

    assert len(every) == len(people) + len(judges)
    assert len(judges) == len(single) == 72
    assert single.annotators == (rules.name,)
    assert not len(votes_in(tournament, helpful, verdict_filter=VerdictFilter("judges", rules.pk + 1)))


def test_verdict_filter_round_trips_through_text() -> None:
    for verdict_filter in (
        VerdictFilter(),
        VerdictFilter("people"),
        VerdictFilter("judges"),
        VerdictFilter("judges", 12),
    ):
        assert VerdictFilter.parse(str(verdict_filter)) == verdict_filter
    with pytest.raises(ValueError, match="one of all, people, judges, or judge- and a number, not 'judge-x'"):
        VerdictFilter.parse("judge-x")


def test_judges_of_same_name_stay_distinct(ada: User, bo: User, tournament: Tournament, helpful: Rubric) -> None:
    judges = [add_judge_verdicts(tournament, helpful, judge=model_judge(owner, "gpt")) for owner in (ada, bo)]
    gold_set = make_gold_set(ada)
    for judge in judges:
        Calibration.objects.create(judge=judge, rubric=helpful, gold_set=gold_set, passes=True, measured={})

    assert votes_in(tournament, helpful).annotators == tuple(f"gpt ({judge.pk})" for judge in judges)


def test_votes_carry_length_in_words_and_prompt_categories(tournament: Tournament, helpful: Rubric) -> None:
    first, second = tournament.chosen_prompts.order_by("place")[:2]
    ChosenPrompt.objects.filter(pk=first.pk).update(categories=["harm", "law"])
    Response.objects.filter(run__name="runner 0", prompt=first.prompt).update(text="one two three four five six")
    Response.objects.filter(run__name="runner 0", prompt=second.prompt).delete()
    add_judge_verdicts(tournament, helpful)

    votes = votes_in(tournament, helpful)
    columns = zip(votes.prompt, votes.a, votes.b, votes.features["length"], strict=True)
    length = {(votes.prompts[prompt], a, b): value for prompt, a, b, value in columns}

    assert length["0", 0, 1] == pytest.approx((6 - 4) / 10)
    assert length["0", 1, 2] == 0
    assert np.isnan(length["1", 0, 1])
    assert sorted(votes.by_category()) == ["", "harm", "law"]
    assert len(votes.by_category()["harm"]) == 6


def test_votes_without_verdicts_list_all_contestants(tournament: Tournament, helpful: Rubric) -> None:
    votes = votes_in(tournament, helpful)

    assert len(votes) == 0
    assert len(votes.contestants) == 4
    assert compute_board(votes).sentences == ("There is no vote that counts, so there are no ratings.",)


def test_votes_query_count_is_constant(
    tournament: Tournament, helpful: Rubric, django_assert_num_queries: object
) -> None:
    verdicts = cast(tournament, helpful, first_votes(make_random_votes(100, contestants=4, prompts=12)))
    add_judge_verdicts(tournament, helpful)
    assert verdicts[0].first in Side.values

    with django_assert_num_queries(7):  # type: ignore[operator]
        votes_in(tournament, helpful)
    Verdict.objects.exclude(pk__in=[verdicts[0].pk, Verdict.objects.filter(voter=None).earliest("pk").pk]).delete()
    with django_assert_num_queries(7):  # type: ignore[operator]
        votes_in(tournament, helpful)
