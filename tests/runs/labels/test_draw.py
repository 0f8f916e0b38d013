"""Drawing: as many responses of each run and step, each pair of texts once, and the same for the same seed."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from django.contrib.auth.models import User

from runs.labels.commands import create_set
from runs.labels.draw import Candidate, CannotDraw, Drawing, draw, find_candidates
from runs.models import Experiment, LabelSet, Run
from tests.runs.labels.label_cases import make_response, make_run_of


def candidates(runs: int = 3, steps: int = 4, prompts: int = 10) -> list[Candidate]:
    numbers = [(run, step, prompt) for run in range(runs) for step in range(steps) for prompt in range(prompts)]
    return [
        Candidate(pk, f"run{run}", step, 0, (f"p{prompt}", f"text {run} {step} {prompt}"))
        for pk, (run, step, prompt) in enumerate(numbers)
    ]


def test_drawing_takes_as_many_of_each_run_and_step() -> None:
    drawn = draw(candidates(), 60, seed=1)
    assert set(Counter((c.run, c.step) for c in drawn).values()) == {5}
    assert len({c.pair for c in drawn}) == 60


def test_drawing_depends_on_seed_and_not_on_order() -> None:
    mixed = candidates()
    Random(5).shuffle(mixed)
    first = [c.pair for c in draw(candidates(), 20, seed=1)]
    assert first == [c.pair for c in draw(mixed, 20, seed=1)]
    assert first != [c.pair for c in draw(candidates(), 20, seed=2)]


def test_drawing_takes_equal_texts_once() -> None:
    repeated = [Candidate(pk, "run", pk, 0, ("p", f"text {pk % 3}")) for pk in range(30)]
    assert sorted(c.pair[1] for c in draw(repeated, 10, seed=1)) == ["text 0", "text 1", "text 2"]


@pytest.fixture
def runs(experiment: Experiment) -> list[Run]:
    responses = [
        make_response("q", "zero", 0), make_response("q", "five", 5), make_response("q", "sampled", 5, sample=1),
        make_response("q", "trained", 5, split="train"),
    ]  # fmt: skip
    short = [make_response("q", "zero", 0), make_response("q", "two", 2)]
    return [make_run_of(experiment, "long", responses), make_run_of(experiment, "short", short, seed=1)]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("steps", "greedy", "pairs"), [("all", False, 5), ("all", True, 4), ("last", True, 2), ("0, 2", False, 3)]
)
def test_candidates_are_of_the_steps(runs: list[Run], steps: str, greedy: bool, pairs: int) -> None:
    drawing = Drawing((), steps, "eval", 10, greedy)
    assert len(find_candidates(runs, drawing)) == pairs


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("drawing", "field", "message"),
    [
        (Drawing((), "7", "eval", 10), "steps", "steps must be one of all, last, 0, 2, 5, not '7'."),
        (Drawing((), "first", "eval", 10), "steps", "steps must be all, last, or numbers"),
        (Drawing((), "all", "test", 10), "split", "split must be one of eval, train, not 'test'."),
        (Drawing((), "all", "eval", 9999), "number", "number must be from 1 to 5000, not 9999."),
    ],
    ids=["no-such-step", "no-step", "split", "number"],
)
def test_drawing_of_nothing_names_the_choices(
    runs: list[Run], ada: User, experiment: Experiment, drawing: Drawing, field: str, message: str
) -> None:
    with pytest.raises(CannotDraw, match=message.partition("'")[0].replace(".", r"\.")) as error:
        create_set(experiment, ada, "Gold", runs, drawing, 1, 2)
    assert error.value.field == field
    assert not LabelSet.objects.exists()


@pytest.mark.django_db
def test_set_stores_the_texts_and_how_they_were_drawn(runs: list[Run], ada: User, experiment: Experiment) -> None:
    label_set = create_set(experiment, ada, "Gold", runs, Drawing((), "all", "eval", 3), 1, 2)
    assert label_set.items.count() == 3
    assert label_set.drawn == {
        "runs": [run.uid for run in runs], "steps": "all", "split": "eval", "number": 3, "greedy": False,
        "available": 4, "strata": 4,
    }  # fmt: skip
    runs[0].delete()
    assert label_set.items.filter(run=None, run_name="long").exists()
    assert set(label_set.items.values_list("question", flat=True)) == {"q?"}
