"""Waits for a scorer: an unreachable scorer is retried, a wrong token is not."""

from __future__ import annotations

import pytest

from tests.workers.scorers import scorer
from workers.config import SafetyOptions
from workers.scorer.client import ScorerRefused
from workers.tasks.safety.scorer import PatientScorer


def waiting(**options: str) -> tuple[PatientScorer, list[str]]:
    """Return a client that waits for failed scorers, and the list of its reasons."""
    asking, reasons = PatientScorer(SafetyOptions(on_scorer_failure="wait", **options)), []
    asking.wait = lambda seconds, reason: reasons.append(reason)
    return asking, reasons


@pytest.mark.parametrize("status", ["401", "403", "404", "422"])
def test_refusal_ends_request_with_message_of_scorer(status: str) -> None:
    with scorer(status, "fine") as server:
        asking, reasons = waiting(scorer=server.url)
        with pytest.raises(ScorerRefused, match=f"the scorer at {server.url} gave no scores: {status}"):
            asking.score(["p"], ["r"])
    assert reasons == [] and server.request_count == 1


def test_failing_scorer_is_retried() -> None:
    with scorer("500", "503", "500", "500", "fine") as server:
        asking, reasons = waiting(scorer=server.url)
        assert len(asking.score(["p"], ["r"])) == 1
    assert server.request_count == 5 and any("retrying in 1 s" in reason for reason in reasons)


def test_missing_site_token_is_refused_without_wait() -> None:
    asking, reasons = waiting(
        scorer="beaver", scorer_site="http://127.0.0.1:9", scorer_site_token_file="/nowhere/at/all"
    )
    with pytest.raises(ScorerRefused, match=r"did not return the address of the scorer beaver: .*/nowhere/at/all"):
        asking.score(["p"], ["r"])
    assert reasons == []
