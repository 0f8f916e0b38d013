"""A tournament of two contestants, four comparisons; one rubric in both orders makes 8 questions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from judging.judge_runs import rate_limits
from judging.models import Rubric, Tournament
from runs.models import Experiment
from tests.fakes.judge_server import JudgeServer
from tests.judging.tournament_factory import make_tournament
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def redis_may_be_slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let Redis reply later than a site would wait, as on a busy machine."""
    monkeypatch.setattr(rate_limits, "ANSWER_SECONDS", PATIENCE_SECONDS)
    rate_limits._valkey.cache_clear()
    yield
    rate_limits._valkey.cache_clear()


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return make_tournament(ada, experiment, prompts=4, contestants=2)


@pytest.fixture
def rubrics(tournament: Tournament) -> list[Rubric]:
    return list(tournament.rubrics.filter(criterion__slug="helpfulness"))


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running
