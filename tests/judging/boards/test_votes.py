"""Verdicts as they stand in the database, as votes: equal to those of a file, whoever gave them."""

from __future__ import annotations

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from judging.boards import VerdictFilter, votes_in
from judging.models import Calibration, ChosenPrompt, Judge, Rubric, Side, Tournament, Verdict
from judging.stats.ratings import board
from judging.stats.votes import Judgment, Outcome, fastchat, read, votes_of
from runs.models import Experiment, Response
from tests.judging.bulk_verdicts import a_before_b, cast, once, ruled
from tests.judging.synthetic_votes import invented
from tests.judging.tournament_factory import gold, held, rubric

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return held(ada, experiment, prompts=12, contestants=4)


@pytest.fixture
def helpful(tournament: Tournament) -> Rubric:
    return rubric("helpfulness")


def model_judge(owner: User, name: str = "judge") -> Judge:
    return Judge.objects.create(name=name, owner=owner, base_url="http://localhost:1", model="m", digest="d")


def test_what_people_said_is_read_as_it_was_said(tournament: Tournament, helpful: Rubric) -> None:
    said = once(invented(150, contestants=4, prompts=12))
    cast(tournament, helpful, said)
    cast(tournament, rubric("harmlessness"), said.where(np.arange(5)))

    found, expected = votes_in(tournament, helpful), a_before_b(said)

    assert found.contestants == tuple(sorted(one.name for one in tournament.contestants.all()))
    for name in ("a", "b", "outcome", "shown_first"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
    assert [found.prompts[k] for k in found.prompt] == [said.prompts[k] for k in said.prompt]
    assert [found.annotators[k] for k in found.annotator] == [f"person {k + 1}" for k in said.annotator]
    assert not any("secret" in name for name in found.annotators)


def test_its_board_is_that_of_a_file_of_the_same_votes_by_hash(tournament: Tournament, helpful: Rubric) -> None:
    cast(tournament, helpful, once(invented(150, contestants=4, prompts=12)))

    found = votes_in(tournament, helpful)
    names, first = found.contestants, found.shown_first
    told = [
        Judgment(names[a], names[b], "helpfulness", found.prompts[prompt], found.annotators[who], verdict=Outcome(out))
        for a, b, prompt, who, out in zip(found.a, found.b, found.prompt, found.annotator, found.outcome, strict=True)
    ]
    read_back = votes_of(read("\n".join(fastchat(told)), "votes.jsonl").judgments, "helpfulness")

    assert set(first.tolist()) == {1, -1}
    assert board(found).hash == board(read_back).hash


def test_nothing_that_was_replaced_passed_by_or_given_on_gold_is_in_it(ada: User, experiment: Experiment) -> None:
    tournament, helpful = held(ada, experiment, gold_set=gold(ada)), rubric("helpfulness")
    made = cast(tournament, helpful, once(invented(9, contestants=3, prompts=4)))
    Verdict.objects.filter(pk=made[0].pk).update(replaced_at=timezone.now())
    Verdict.objects.filter(pk=made[1].pk).update(outcome="skip")
    of_gold = tournament.comparisons.exclude(gold_pair=None).first()
    Verdict.objects.create(comparison=of_gold, rubric=helpful, voter=made[0].voter, outcome="a")

    assert len(votes_in(tournament, helpful)) == len(made) - 2


def test_a_model_is_in_it_where_it_agrees_with_people_and_not_twice_where_it_was_asked_again(
    ada: User, tournament: Tournament, helpful: Rubric
) -> None:
    judge = ruled(tournament, helpful, judge=model_judge(ada))
    again = Verdict.objects.filter(judge=judge).first()
    assert again is not None
    Verdict.objects.create(comparison=again.comparison, rubric=helpful, judge=judge, outcome="b", first="a", sample=1)

    assert len(votes_in(tournament, helpful)) == 0
    Calibration.objects.create(judge=judge, rubric=helpful, gold_set=gold(ada), passes=True, measured={})

    found = votes_in(tournament, helpful)
    assert found.annotators == ("judge",)
    assert len(found) == 12 * 6 == found.number(Outcome.A)


def test_it_is_of_those_whose_verdicts_are_asked_for(ada: User, tournament: Tournament, helpful: Rubric) -> None:
    cast(tournament, helpful, once(invented(20, contestants=4, prompts=12)))
    rules = ruled(tournament, helpful)

    every, people = votes_in(tournament, helpful), votes_in(tournament, helpful, whose=VerdictFilter("people"))
    judges, one = (
        votes_in(tournament, helpful, whose=VerdictFilter.of(word)) for word in ("judges", f"judge-{rules.pk}")
    )

    assert len(every) == len(people) + len(judges)
    assert len(judges) == len(one) == 72
    assert one.annotators == (rules.name,)
    assert not len(votes_in(tournament, helpful, whose=VerdictFilter("judges", rules.pk + 1)))


def test_whose_verdicts_is_said_in_a_word_that_is_read_back() -> None:
    for one in (VerdictFilter(), VerdictFilter("people"), VerdictFilter("judges"), VerdictFilter("judges", 12)):
        assert VerdictFilter.of(str(one)) == one
    with pytest.raises(ValueError, match="one of all, people, judges, or judge- and a number, not 'judge-x'"):
        VerdictFilter.of("judge-x")


def test_judges_of_one_name_are_two(ada: User, bo: User, tournament: Tournament, helpful: Rubric) -> None:
    judges = [ruled(tournament, helpful, judge=model_judge(owner, "gpt")) for owner in (ada, bo)]
    of_gold = gold(ada)
    for judge in judges:
        Calibration.objects.create(judge=judge, rubric=helpful, gold_set=of_gold, passes=True, measured={})

    assert votes_in(tournament, helpful).annotators == tuple(f"gpt ({judge.pk})" for judge in judges)


def test_length_is_in_words_and_categories_are_those_of_prompts(tournament: Tournament, helpful: Rubric) -> None:
    first, second = tournament.chosen_prompts.order_by("place")[:2]
    ChosenPrompt.objects.filter(pk=first.pk).update(categories=["harm", "law"])
    Response.objects.filter(run__name="runner 0", prompt=first.prompt).update(text="one two three four five six")
    Response.objects.filter(run__name="runner 0", prompt=second.prompt).delete()
    ruled(tournament, helpful)

    found = votes_in(tournament, helpful)
    columns = zip(found.prompt, found.a, found.b, found.features["length"], strict=True)
    length = {(found.prompts[prompt], a, b): one for prompt, a, b, one in columns}

    assert length["0", 0, 1] == pytest.approx((6 - 4) / 10)
    assert length["0", 1, 2] == 0
    assert np.isnan(length["1", 0, 1])
    assert sorted(found.by_category()) == ["", "harm", "law"]
    assert len(found.by_category()["harm"]) == 6


def test_no_verdict_is_no_vote_and_still_names_everybody(tournament: Tournament, helpful: Rubric) -> None:
    found = votes_in(tournament, helpful)

    assert len(found) == 0
    assert len(found.contestants) == 4
    assert board(found).sentences == ("There is no vote that counts, so there are no ratings.",)


def test_it_takes_as_many_questions_for_one_vote_as_for_many(
    tournament: Tournament, helpful: Rubric, django_assert_num_queries: object
) -> None:
    made = cast(tournament, helpful, once(invented(100, contestants=4, prompts=12)))
    ruled(tournament, helpful)
    assert made[0].first in Side.values

    with django_assert_num_queries(7):  # type: ignore[operator]
        votes_in(tournament, helpful)
    Verdict.objects.exclude(pk__in=[made[0].pk, Verdict.objects.filter(voter=None).earliest("pk").pk]).delete()
    with django_assert_num_queries(7):  # type: ignore[operator]
        votes_in(tournament, helpful)
