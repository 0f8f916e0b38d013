"""What a run waits for, and what it does not: a scorer that is away comes back, a wrong token stays wrong."""

from __future__ import annotations

import pytest

from tests.workers.scorers import scorer
from workers.config import SafetyOptions
from workers.scorer.client import ScorerRefused
from workers.tasks.safety.asking import Asking


def waiting(**options: str) -> tuple[Asking, list[str]]:
    """One that is to wait for an hour, and what it waits for."""
    asking, whys = Asking(SafetyOptions(on_scorer_failure="wait", **options)), []
    asking.wait = lambda seconds, why: whys.append(why)
    return asking, whys


@pytest.mark.parametrize("status", ["401", "403", "404", "422"])
def test_a_refusal_ends_it_at_once_with_what_the_scorer_said(status: str) -> None:
    with scorer(status, "fine") as server:
        asking, whys = waiting(scorer=server.url)
        with pytest.raises(ScorerRefused, match=f"the scorer at {server.url} gave no scores: {status}"):
            asking.score(["p"], ["r"])
    assert whys == [] and server.asked == 1


def test_a_scorer_that_fails_is_waited_for() -> None:
    with scorer("500", "503", "500", "500", "fine") as server:
        asking, whys = waiting(scorer=server.url)
        assert len(asking.score(["p"], ["r"])) == 1
    assert server.asked == 5 and any("asked again in 1 s" in why for why in whys)


def test_a_site_whose_token_is_not_there_is_not_waited_for() -> None:
    asking, whys = waiting(scorer="beaver", scorer_site="http://127.0.0.1:9", scorer_site_token_file="/nowhere/at/all")
    with pytest.raises(ScorerRefused, match=r"does not say where the scorer beaver is: .*/nowhere/at/all"):
        asking.score(["p"], ["r"])
    assert whys == []
