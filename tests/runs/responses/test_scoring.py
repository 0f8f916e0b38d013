"""A scorer's scores are stored in addition to the run's own; an interrupted scoring resumes, and invents nothing."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from runs.models import Response, Score
from runs.responses import scoring
from runs.service_registry import commands
from runs.service_registry.commands import Registration
from tests.cases import each_case
from tests.runs.viewer_responses import make_response, model
from tests.workers.scorer.scripted_scorer import lengths, scripted_scorer
from workers.scorer.scores import ScorerFailed, Scores


class ByLength:
    """Scores by the length of the answer; breaks after so many answers."""

    def __init__(self, breaks_after: int = 1000) -> None:
        self.pairs: list[tuple[str, str]] = []
        self.breaks_after = breaks_after

    def score(self, prompts, responses):
        if len(self.pairs) + len(prompts) > self.breaks_after:
            raise ScorerFailed("the scorer is gone")
        self.pairs += zip(prompts, responses, strict=True)
        return [Scores(float(len(text)), -1.0) for text in responses]


@pytest.fixture
def run(experiment, runs_dir):
    answers = [make_response(n, f"answer {n}", 0.5, 1.0) for n in range(5)]
    return model(experiment, "es", [*answers, make_response(9, "", 0.1, 0.2, parts={"cost": 0.2, "no_text": 1.0})])


@pytest.fixture
def address():
    """Return a scorer over HTTP."""
    with scripted_scorer(lengths) as scorer:
        yield scorer.url


def test_every_answer_with_a_text_is_scored_once(run):
    scorer = ByLength()
    assert list(scoring.score(scoring.unscored(run, "length"), scorer, "length")) == [5]
    assert list(scoring.score(scoring.unscored(run, "length"), scorer, "length")) == []
    assert scorer.pairs[0] == ("Request 1?", "answer 0")
    assert set(Score.objects.values_list("scorer", "key", "value")) == {
        ("length", "reward", 8.0),
        ("length", "cost", -1.0),
    }
    assert set(Response.objects.values_list("reward", flat=True)) == {0.5, 0.1}


def test_interrupted_scoring_retains_scores_and_resumes(run):
    with pytest.raises(ScorerFailed):
        list(scoring.score(scoring.unscored(run, "length"), ByLength(breaks_after=4), "length", batch_size=2))
    assert Score.objects.filter(key="cost").count() == 4
    assert list(scoring.score(scoring.unscored(run, "length"), ByLength(), "length")) == [1]


def test_the_command_asks_a_registered_scorer(run, address, capsys):
    commands.register(run.created_by, Registration("scorer", "beaver", "0123456789", address))
    call_command("score", run.uid, scorer="beaver", step=500)
    assert capsys.readouterr().out == "5 of 5 responses scored\n"
    call_command("score", run.uid, scorer="beaver")
    assert "beaver has scored all responses of es." in capsys.readouterr().out


def test_unregistered_scorer_is_called_by_its_address(run, address):
    call_command("score", run.uid, scorer="mine", url=address)
    assert Score.objects.filter(scorer="mine").count() == 10


@each_case(
    ("arguments", "message"),
    [
        ({"scorer": "nobody"}, "There is no active scorer 'nobody' that ada may use; active scorers: none now"),
        ({"scorer": "x", "url": "ftp://node"}, "must begin with http:// or https://"),
        ({"scorer": ""}, "--scorer must be a name"),
    ],
)
def test_invalid_scoring_is_reported(run, arguments, message):
    with pytest.raises(CommandError, match=message):
        call_command("score", run.uid, **arguments)
    with pytest.raises(CommandError, match="Unknown run 'nosuch'"):
        call_command("score", "nosuch", scorer="x")
