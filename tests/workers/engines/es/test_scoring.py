"""Members are scored in batches while others still answer, and only members with a bad answer fail."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE_SECONDS
from tests.workers.engines.es.runs import Conciseness, records_of, run
from tests.workers.scorers import scorer
from workers.config import SafetyOptions
from workers.engines.es.backend import DecoderBackEnd
from workers.engines.es.scoring import Scoring
from workers.models import Loaded
from workers.models.decoder import Completion
from workers.records import Population
from workers.tasks import Example, RewardFailed, Score
from workers.tasks.safety import Safety


class Notes(Conciseness):
    """A task that notes when a training answer is scored."""

    def __init__(self) -> None:
        super().__init__()
        self.is_scoring = threading.Event()
        self._train = {example.id for example in self.examples("train")}

    def score(self, example: Example, completion: str) -> Score:
        if example.id in self._train:
            self.is_scoring.set()
        return super().score(example, completion)


def test_members_are_scored_while_others_are_answered(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, answer, calls = Notes(), DecoderBackEnd.answer, 0

    def waits(self: DecoderBackEnd, seeds: Sequence[int], prompts: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            assert task.is_scoring.wait(PATIENCE_SECONDS), "the first batches were not scored before the third"
        return answer(self, seeds, prompts)

    monkeypatch.setattr(DecoderBackEnd, "answer", waits)
    run(micro, tmp_path, task, iterations=1, rows=8)
    assert calls == 3


def test_scorer_gets_many_members_in_one_request(micro: Loaded, tmp_path: Path) -> None:
    with scorer("fine") as server:
        run(micro, tmp_path, Safety(SafetyOptions(scorer=server.url)), iterations=4)
        an_evaluation, an_iteration = 1, 1 + 1
        assert server.request_count <= 3 * an_evaluation + 4 * an_iteration, "six members were asked for in one request"
    assert len(records_of(tmp_path, Population)) == 4


class Picky(Conciseness):
    """A task that fails on one answer."""

    def score(self, example: Example, completion: str) -> Score:
        if completion == "bad":
            raise ZeroDivisionError("no such reward")
        return Score(float(len(completion)))


def completions(*texts: str) -> list[Completion]:
    return [Completion([0], text, False) for text in texts]


def test_failed_reward_affects_only_its_member() -> None:
    examples = list(Picky().examples("train"))[:2]
    good, bad, other = completions("a", "bb"), completions("bad", "bb"), completions("ccc", "bb")
    with Scoring(Picky(), examples, keeps_going=True) as scoring:
        scoring.add([good, bad])
        scoring.add([other])
        scoring.finish()
    assert [score.reward for score in scoring.scores(good)] == [1.0, 2.0]
    assert [score.reward for score in scoring.scores(other)] == [3.0, 2.0]
    with pytest.raises(RewardFailed, match="failed twice"):
        scoring.scores(bad)


def test_first_failure_ends_scoring_without_dropping() -> None:
    examples = list(Picky().examples("train"))[:1]
    with Scoring(Picky(), examples, keeps_going=False) as scoring:
        scoring.add([completions("bad")])
        with pytest.raises(RewardFailed):
            scoring.finish()


def test_an_error_of_the_task_itself_is_raised() -> None:
    class Short(Picky):
        def score_until_failure(self, asked: Any) -> tuple[list[Score], None]:
            return [], None

    examples = list(Picky().examples("train"))[:1]
    with Scoring(Short(), examples, keeps_going=True) as scoring:
        scoring.add([completions("a")])
        with pytest.raises(ValueError, match="1 scores too few"):
            scoring.finish()
