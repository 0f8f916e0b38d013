"""Rows of judging that the database refuses from any writer."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.db import DatabaseError, IntegrityError, transaction

from judging.models import ChosenPrompt, Comparison, Contestant, Rubric, Side, Tournament, Verdict, Voter
from judging.models.rubric import RubricIsImmutable, digest_of
from runs.models import Experiment, Response, Run
from tests.judging.tournament_factory import answered_run, rubric

pytestmark = pytest.mark.django_db


@pytest.fixture
def comparison(ada: User, experiment: Experiment) -> Comparison:
    """Return a comparison of two runs of Ada's on one prompt."""
    tournament = Tournament.objects.create(name="Which is better?", owner=ada, seed=1)
    tournament.rubrics.add(rubric("helpfulness"))
    runs = [answered_run(experiment, name, ["yes"]) for name in ("es", "grpo")]
    a, b = (
        Contestant.objects.create(tournament=tournament, name=run.name, place=k, run=run, step=0, split="eval")
        for k, run in enumerate(runs)
    )
    answers = [Response.objects.get(run=run) for run in runs]
    chosen_prompt = ChosenPrompt.objects.create(tournament=tournament, prompt=answers[0].prompt, place=0)
    return Comparison.objects.create(
        tournament=tournament, place=0, prompt=chosen_prompt, a=a, b=b, response_a=answers[0], response_b=answers[1],
        first=Side.A,
    )  # fmt: skip


def test_rubric_cannot_be_changed_in_model_or_database(ada: User) -> None:
    saved = rubric("helpfulness")

    with pytest.raises(RubricIsImmutable, match="helpfulness v1 cannot be changed: create the next version"):
        saved.save()
    with pytest.raises(DatabaseError, match="is not changed"), transaction.atomic():
        Rubric.objects.update(text="something else")

    assert Rubric.objects.get().text == "helpfulness"


def test_rubric_digest_depends_on_text_and_scale() -> None:
    same = digest_of("Which?", "The better.", 1, 10)

    assert digest_of("Which?", "The better.", 1, 10) == same
    assert len({same, digest_of("Which?", "The worse.", 1, 10), digest_of("Which?", "The better.", 0, 10)}) == 3


def test_tournament_is_visible_only_with_all_its_runs(
    ada: User, bo: User, comparison: Comparison, experiment: Experiment
) -> None:
    assert list(Tournament.objects.visible_to(bo)) == [comparison.tournament]
    assert not Tournament.objects.visible_to(AnonymousUser()).exists()

    Experiment.objects.filter(pk=experiment.pk).update(is_private=True)

    assert not Tournament.objects.visible_to(bo).exists()
    assert list(Tournament.objects.visible_to(ada)) == [comparison.tournament]


def test_private_tournament_is_visible_only_to_owner(ada: User, bo: User, comparison: Comparison) -> None:
    Tournament.objects.update(is_private=True)

    assert not Tournament.objects.visible_to(bo).exists()
    assert Tournament.objects.visible_to(ada).exists()


def test_voter_has_one_current_verdict_per_pair_and_criterion(bo: User, comparison: Comparison) -> None:
    voter = Voter.objects.create(tournament=comparison.tournament, number=0, user=bo)
    fields = {"comparison": comparison, "rubric": rubric("helpfulness"), "voter": voter}
    first = Verdict.objects.create(outcome="a", **fields)

    with pytest.raises(IntegrityError, match="verdict_one_a_voter"), transaction.atomic():
        Verdict.objects.create(outcome="b", **fields)
    Verdict.objects.filter(pk=first.pk).update(replaced_at=first.at)
    Verdict.objects.create(outcome="b", **fields)

    assert [verdict.outcome for verdict in Verdict.objects.current()] == ["b"]
    assert Verdict.objects.count() == 2


def test_verdicts_remain_after_runs_are_deleted(bo: User, comparison: Comparison) -> None:
    voter = Voter.objects.create(tournament=comparison.tournament, number=0, user=bo)
    Verdict.objects.create(outcome="a", comparison=comparison, rubric=rubric("helpfulness"), voter=voter)
    assert comparison.texts == ("What is 0?", "yes", "yes")

    Run.objects.filter(name="es").delete()

    remaining = Comparison.objects.get()
    assert (remaining.texts, remaining.a and remaining.a.name, remaining.verdicts.count()) == (None, "es", 1)


def test_deleted_tournament_deletes_verdicts_and_voters(bo: User, comparison: Comparison) -> None:
    voter = Voter.objects.create(tournament=comparison.tournament, number=0, user=bo)
    Verdict.objects.create(outcome="a", comparison=comparison, rubric=rubric("helpfulness"), voter=voter)

    comparison.tournament.delete()

    assert not Verdict.objects.exists() and not Voter.objects.exists()
