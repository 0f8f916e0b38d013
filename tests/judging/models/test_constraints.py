"""What the rows of judging refuse, whoever writes them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.db import DatabaseError, IntegrityError, transaction

from judging.models import ChosenPrompt, Comparison, Contestant, Rubric, Side, Tournament, Verdict, Voter
from judging.models.rubric import RubricIsKept, digest_of
from runs.models import Experiment, Response, Run
from tests.judging.tournament_factory import answered_run, rubric

pytestmark = pytest.mark.django_db


@pytest.fixture
def comparison(ada: User, experiment: Experiment) -> Comparison:
    """Of two runs of Ada's, on one prompt."""
    tournament = Tournament.objects.create(name="Which is better?", owner=ada, seed=1)
    tournament.rubrics.add(rubric("helpfulness"))
    runs = [answered_run(experiment, name, ["yes"]) for name in ("es", "grpo")]
    a, b = (
        Contestant.objects.create(tournament=tournament, name=run.name, place=k, run=run, step=0, split="eval")
        for k, run in enumerate(runs)
    )
    answers = [Response.objects.get(run=run) for run in runs]
    chosen = ChosenPrompt.objects.create(tournament=tournament, prompt=answers[0].prompt, place=0)
    return Comparison.objects.create(
        tournament=tournament, place=0, prompt=chosen, a=a, b=b, response_a=answers[0], response_b=answers[1],
        first=Side.A,
    )  # fmt: skip


def test_a_rubric_is_never_changed_not_even_past_the_model(ada: User) -> None:
    kept = rubric("helpfulness")

    with pytest.raises(RubricIsKept, match="helpfulness v1 cannot be changed: make the next version"):
        kept.save()
    with pytest.raises(DatabaseError, match="is not changed"), transaction.atomic():
        Rubric.objects.update(text="something else")

    assert Rubric.objects.get().text == "helpfulness"


def test_equal_words_have_equal_digests_and_any_other_word_another() -> None:
    same = digest_of("Which?", "The better.", 1, 10)

    assert digest_of("Which?", "The better.", 1, 10) == same
    assert len({same, digest_of("Which?", "The worse.", 1, 10), digest_of("Which?", "The better.", 0, 10)}) == 3


def test_a_tournament_is_seen_by_whoever_may_see_all_its_runs(
    ada: User, bo: User, comparison: Comparison, experiment: Experiment
) -> None:
    assert list(Tournament.objects.visible_to(bo)) == [comparison.tournament]
    assert not Tournament.objects.visible_to(AnonymousUser()).exists()

    Experiment.objects.filter(pk=experiment.pk).update(is_private=True)

    assert not Tournament.objects.visible_to(bo).exists()
    assert list(Tournament.objects.visible_to(ada)) == [comparison.tournament]


def test_a_private_tournament_is_its_owners_alone(ada: User, bo: User, comparison: Comparison) -> None:
    Tournament.objects.update(is_private=True)

    assert not Tournament.objects.visible_to(bo).exists()
    assert Tournament.objects.visible_to(ada).exists()


def test_a_person_has_one_current_verdict_a_pair_and_criterion(bo: User, comparison: Comparison) -> None:
    voter = Voter.objects.create(tournament=comparison.tournament, number=0, user=bo)
    said = {"comparison": comparison, "rubric": rubric("helpfulness"), "voter": voter}
    first = Verdict.objects.create(outcome="a", **said)

    with pytest.raises(IntegrityError, match="verdict_one_a_voter"), transaction.atomic():
        Verdict.objects.create(outcome="b", **said)
    Verdict.objects.filter(pk=first.pk).update(replaced_at=first.at)
    Verdict.objects.create(outcome="b", **said)

    assert [verdict.outcome for verdict in Verdict.objects.current()] == ["b"]
    assert Verdict.objects.count() == 2


def test_verdicts_outlive_the_runs_that_they_are_about(bo: User, comparison: Comparison) -> None:
    voter = Voter.objects.create(tournament=comparison.tournament, number=0, user=bo)
    Verdict.objects.create(outcome="a", comparison=comparison, rubric=rubric("helpfulness"), voter=voter)
    assert comparison.texts == ("What is 0?", "yes", "yes")

    Run.objects.filter(name="es").delete()

    kept = Comparison.objects.get()
    assert (kept.texts, kept.a and kept.a.name, kept.verdicts.count()) == (None, "es", 1)


def test_a_tournament_goes_with_all_that_was_said_in_it(bo: User, comparison: Comparison) -> None:
    voter = Voter.objects.create(tournament=comparison.tournament, number=0, user=bo)
    Verdict.objects.create(outcome="a", comparison=comparison, rubric=rubric("helpfulness"), voter=voter)

    comparison.tournament.delete()

    assert not Verdict.objects.exists() and not Voter.objects.exists()
