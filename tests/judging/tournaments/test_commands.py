"""Tournaments from runs' answers: their contents, refusals, and deletion."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from judging import tournaments
from judging.models import Comparison, Tournament
from judging.tournaments import Entry, commands, create_tournament
from judging.tournaments.commands import TournamentRefused
from runs.models import Experiment
from tests.judging.tournament_factory import answered_run, make_gold_set, make_tournament, rubric

pytestmark = pytest.mark.django_db


def test_every_pair_meets_on_every_prompt(ada: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment, prompts=4, contestants=3)

    assert [contestant.name for contestant in tournament.contestants.all()] == [
        f"runner {k} · step 0 · eval" for k in range(3)
    ]
    assert tournament.comparisons.count() == 3 * 4
    for comparison in tournament.comparisons.select_related("response_a", "response_b", "prompt"):
        assert comparison.response_a and comparison.response_b and comparison.prompt
        assert comparison.response_a.prompt_id == comparison.response_b.prompt_id == comparison.prompt.prompt_id
        assert (comparison.a and comparison.a.run_id, comparison.b and comparison.b.run_id) == (
            comparison.response_a.run_id,
            comparison.response_b.run_id,
        )


def test_same_seed_makes_same_comparisons(ada: User, experiment: Experiment) -> None:
    runs = [answered_run(experiment, name, [f"{name} {n}" for n in range(9)]) for name in ("first", "second", "third")]
    entries = [Entry(run, 0, "eval") for run in runs]

    orders = [
        [
            (comparison.first, *(comparison.texts or ()))
            for comparison in create_tournament(
                Tournament(owner=ada, name="again", seed=5), entries, [rubric("helpfulness")], prompts=3
            ).comparisons.order_by("place")
        ]
        for _ in range(2)
    ]

    assert orders[0] == orders[1]
    assert len(orders[0]) == 9


def test_answers_that_leak_their_author_are_flagged(ada: User, experiment: Experiment) -> None:
    runs = [
        answered_run(experiment, "quiet", ["I am nobody"]),
        answered_run(experiment, "loud", ["I am Qwen.\nUSER: ?"]),
    ]
    entries = [Entry(run, 0, "eval") for run in runs]

    tournament = create_tournament(Tournament(owner=ada, name="leaks"), entries, [rubric("helpfulness")], 1)

    assert tournament.comparisons.get().leaks == ["b:name", "b:marker"]


def test_gold_pairs_are_added_to_comparisons(ada: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment, prompts=2, contestants=2, gold_set=make_gold_set(ada))

    gold_comparisons = tournament.comparisons.filter(gold_pair__isnull=False)
    assert (gold_comparisons.count(), tournament.comparisons.count()) == (4, 6)
    assert all(
        comparison.is_gold and comparison.texts == (f"gold {comparison.gold_pair.place}?", "good", "bad")
        for comparison in gold_comparisons
    )  # type: ignore[union-attr]


def test_invalid_tournament_draft_is_refused(ada: User, experiment: Experiment) -> None:
    first, second = (answered_run(experiment, name, ["yes"]) for name in ("one", "other"))
    late = answered_run(experiment, "late", [], step=0)
    by = [rubric("helpfulness")]
    both = [Entry(first, 0, "eval"), Entry(second, 0, "eval")]
    wrong = {
        "2 to 20 contestants, not 1": (both[:1], by, 1),
        "2 to 20 contestants, not 1.": ([both[0], both[0]], by, 1),
        "at least one criterion": (both, [], 1),
        "at least one prompt": (both, by, 0),
        "late has no responses at step 0 on the split eval": ([both[0], Entry(late, 0, "eval")], by, 1),
        "at most 50000 pairs, not 60000": (both, by, 60_000),
    }
    for message, (entries, rubrics, prompts) in wrong.items():
        with pytest.raises(TournamentRefused, match=message):
            create_tournament(Tournament(owner=ada, name="x"), entries, rubrics, prompts)
    assert not Tournament.objects.exists()


def test_a_tournament_without_a_prompt_in_common_is_refused(ada: User, experiment: Experiment) -> None:
    first, second = answered_run(experiment, "one", ["yes", "no"]), answered_run(experiment, "other", ["yes", "no"])
    first.response_set.filter(text="yes").delete()
    second.response_set.filter(text="no").delete()

    with pytest.raises(TournamentRefused, match="No prompt has responses of all contestants"):
        entries = [Entry(run, 0, "eval") for run in (first, second)]
        create_tournament(Tournament(owner=ada, name="x"), entries, [rubric("helpfulness")], 2)


def test_pause_close_and_deletion_can_be_undone(ada: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment, prompts=1, contestants=2)

    def now() -> tuple[bool, bool]:
        tournament.refresh_from_db()
        return tournament.is_open, Tournament.objects.visible_to(ada).exists()

    for do, expected in (
        (commands.pause, (False, True)), (commands.resume, (True, True)), (commands.close, (False, True)),
        (commands.resume, (True, True)), (lambda target: commands.move_to_trash(target, ada), (False, False)),
        (commands.restore, (True, True)),
    ):  # fmt: skip
        do(tournament)
        assert now() == expected


def test_deleted_tournament_is_purged_after_thirty_days(ada: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment, prompts=1, contestants=2)
    commands.move_to_trash(tournament, ada)

    tournaments.purge_trash()
    assert Tournament.objects.exists()
    Tournament.objects.update(deleted_at=timezone.now() - timedelta(days=31))
    tournaments.purge_trash()

    assert not Tournament.objects.exists() and not Comparison.objects.exists()
