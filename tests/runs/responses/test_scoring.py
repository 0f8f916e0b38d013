"""A scorer's scores of a run's answers stand beside the run's own; what breaks off goes on, and nothing is made up."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from runs.models import Response, Score
from runs.responses import scoring
from runs.service_registry import commands
from runs.service_registry.commands import Registration
from tests.runs.viewer_responses import model, said
from tests.workers.scorer.scripted_scorer import lengths, talking
from workers.scorer.scores import ScorerFailed, Scores


class ByLength:
    """Scores by the length of the answer; breaks after so many answers."""

    def __init__(self, breaks_after: int = 1000) -> None:
        self.asked: list[tuple[str, str]] = []
        self.breaks_after = breaks_after

    def score(self, prompts, responses):
        if len(self.asked) + len(prompts) > self.breaks_after:
            raise ScorerFailed("the scorer is gone")
        self.asked += zip(prompts, responses, strict=True)
        return [Scores(float(len(text)), -1.0) for text in responses]


@pytest.fixture
def run(experiment, runs_dir):
    answers = [said(n, f"answer {n}", 0.5, 1.0) for n in range(5)]
    return model(experiment, "es", [*answers, said(9, "", 0.1, 0.2, parts={"cost": 0.2, "no_text": 1.0})])


@pytest.fixture
def address():
    """A scorer over HTTP."""
    with talking(lengths) as scorer:
        yield scorer.url


def test_every_answer_with_a_text_is_scored_once(run):
    scorer = ByLength()
    assert list(scoring.score(scoring.unscored(run, "length"), scorer, "length")) == [5]
    assert list(scoring.score(scoring.unscored(run, "length"), scorer, "length")) == []
    assert scorer.asked[0] == ("Request 1?", "answer 0")
    assert set(Score.objects.values_list("scorer", "key", "value")) == {
        ("length", "reward", 8.0),
        ("length", "cost", -1.0),
    }
    assert set(Response.objects.values_list("reward", flat=True)) == {0.5, 0.1}


def test_what_breaks_off_keeps_what_it_has_and_goes_on(run):
    with pytest.raises(ScorerFailed):
        list(scoring.score(scoring.unscored(run, "length"), ByLength(breaks_after=4), "length", at_once=2))
    assert Score.objects.filter(key="cost").count() == 4
    assert list(scoring.score(scoring.unscored(run, "length"), ByLength(), "length")) == [1]


def test_the_command_asks_a_registered_scorer(run, address, capsys):
    commands.register(run.created_by, Registration("scorer", "beaver", "0123456789", address))
    call_command("score", run.uid, scorer="beaver", step=500)
    assert capsys.readouterr().out == "5 of 5 answers scored\n"
    call_command("score", run.uid, scorer="beaver")
    assert "beaver has scored all answers of es that there are." in capsys.readouterr().out


def test_a_scorer_that_is_not_registered_is_asked_by_its_address(run, address):
    call_command("score", run.uid, scorer="mine", url=address)
    assert Score.objects.filter(scorer="mine").count() == 10


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"scorer": "nobody"}, "There is no living scorer 'nobody' that ada may use; there are: none now"),
        ({"scorer": "x", "url": "ftp://node"}, "must begin with http:// or https://"),
        ({"scorer": ""}, "--scorer must be a name"),
    ],
)
def test_what_cannot_be_asked_is_said(run, arguments, why):
    with pytest.raises(CommandError, match=why):
        call_command("score", run.uid, **arguments)
    with pytest.raises(CommandError, match="There is no run 'nosuch'"):
        call_command("score", "nosuch", scorer="x")
