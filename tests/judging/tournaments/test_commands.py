"""Tournaments from runs' answers: what they hold, what is refused, and how they end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from judging import tournaments
from judging.models import Comparison, Tournament
from judging.tournaments import Draft, Entry, commands
from judging.tournaments.commands import CannotMake
from runs.models import Experiment
from tests.judging.tournament_factory import answered_run, gold, held, rubric

pytestmark = pytest.mark.django_db


def test_every_pair_of_contestants_meets_on_every_prompt_drawn(ada: User, experiment: Experiment) -> None:
    made = held(ada, experiment, prompts=4, contestants=3)

    assert [contestant.name for contestant in made.contestants.all()] == [
        f"runner {k} · step 0 · eval" for k in range(3)
    ]
    assert made.comparisons.count() == 3 * 4
    for one in made.comparisons.select_related("response_a", "response_b", "prompt"):
        assert one.response_a and one.response_b and one.prompt
        assert one.response_a.prompt_id == one.response_b.prompt_id == one.prompt.prompt_id
        assert (one.a and one.a.run_id, one.b and one.b.run_id) == (one.response_a.run_id, one.response_b.run_id)


def test_one_seed_makes_one_tournament(ada: User, experiment: Experiment) -> None:
    runs = [answered_run(experiment, name, [f"{name} {n}" for n in range(9)]) for name in ("first", "second", "third")]
    draft = Draft("again", [Entry(run, 0, "eval") for run in runs], [rubric("helpfulness")], prompts=3, seed=5)

    shown = [
        [(one.first, *(one.texts or ())) for one in tournaments.make(ada, draft).comparisons.order_by("place")]
        for _ in range(2)
    ]

    assert shown[0] == shown[1]
    assert len(shown[0]) == 9


def test_answers_that_tell_whose_they_are_are_flagged(ada: User, experiment: Experiment) -> None:
    runs = [
        answered_run(experiment, "quiet", ["I am nobody"]),
        answered_run(experiment, "loud", ["I am Qwen.\nUSER: ?"]),
    ]
    entries = [Entry(run, 0, "eval") for run in runs]

    made = tournaments.make(ada, Draft("leaks", entries, [rubric("helpfulness")], prompts=1))

    assert made.comparisons.get().leaks == ["b:name", "b:marker"]


def test_gold_pairs_are_mixed_in_and_rate_nobody(ada: User, experiment: Experiment) -> None:
    made = held(ada, experiment, prompts=2, contestants=2, gold_set=gold(ada))

    known = made.comparisons.filter(gold_pair__isnull=False)
    assert (known.count(), made.comparisons.count()) == (4, 6)
    assert all(one.is_gold and one.texts == (f"gold {one.gold_pair.place}?", "good", "bad") for one in known)  # type: ignore[union-attr]


def test_what_makes_no_sense_is_refused_in_a_sentence(ada: User, experiment: Experiment) -> None:
    one, other = (answered_run(experiment, name, ["yes"]) for name in ("one", "other"))
    late = answered_run(experiment, "late", [], step=0)
    by = [rubric("helpfulness")]
    both = [Entry(one, 0, "eval"), Entry(other, 0, "eval")]
    wrong = {
        "2 to 20 contestants, not 1": Draft("x", both[:1], by, 1),
        "2 to 20 contestants, not 1.": Draft("x", [both[0], both[0]], by, 1),
        "at least one criterion": Draft("x", both, [], 1),
        "at least one prompt": Draft("x", both, by, 0),
        "late has no answers at step 0 on the split eval": Draft("x", [both[0], Entry(late, 0, "eval")], by, 1),
        "60000 pairs are more than the 50000": Draft("x", both, by, 60_000),
    }
    for said, draft in wrong.items():
        with pytest.raises(CannotMake, match=said):
            tournaments.make(ada, draft)
    assert not Tournament.objects.exists()


def test_a_tournament_without_a_prompt_in_common_is_refused(ada: User, experiment: Experiment) -> None:
    one, other = answered_run(experiment, "one", ["yes", "no"]), answered_run(experiment, "other", ["yes", "no"])
    one.response_set.filter(text="yes").delete()
    other.response_set.filter(text="no").delete()

    with pytest.raises(CannotMake, match="no prompt that all contestants have answered"):
        tournaments.make(ada, Draft("x", [Entry(r, 0, "eval") for r in (one, other)], [rubric("helpfulness")], 2))


def test_pause_close_and_the_bin_can_all_be_undone(ada: User, experiment: Experiment) -> None:
    made = held(ada, experiment, prompts=1, contestants=2)

    def now() -> tuple[bool, bool]:
        made.refresh_from_db()
        return made.is_open, Tournament.objects.visible_to(ada).exists()

    for do, stands in (
        (commands.pause, (False, True)), (commands.go_on, (True, True)), (commands.close, (False, True)),
        (commands.go_on, (True, True)), (lambda one: commands.delete(one, ada), (False, False)),
        (commands.restore, (True, True)),
    ):  # fmt: skip
        do(made)
        assert now() == stands


def test_the_bin_is_emptied_after_thirty_days(ada: User, experiment: Experiment) -> None:
    made = held(ada, experiment, prompts=1, contestants=2)
    commands.delete(made, ada)

    tournaments.purge()
    assert Tournament.objects.exists()
    Tournament.objects.update(deleted_at=timezone.now() - timedelta(days=31))
    tournaments.purge()

    assert not Tournament.objects.exists() and not Comparison.objects.exists()
