"""The client of a scorer: every score comes from the scorer, or there is none and the reason is said."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS
from tests.workers.scorer.scripted_scorer import Asked, Said, lengths, talking
from workers.scorer.client import ScorerClient, ScorerFailed, ScorerRefused, Scores

PROMPTS, RESPONSES = ["a", "bb", "ccc"], ["four", "fives", "sixsix"]
RIGHT = [Scores(4.0, 1.0), Scores(5.0, 2.0), Scores(6.0, 3.0)]
PROBLEM = Said('{"detail": "out of memory"}', 500)


@dataclass
class Clock:
    """The client's clock: it runs like any other, and a test may put it ahead."""

    ahead: float = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of every client in this test."""
    clock = Clock()
    monkeypatch.setattr("workers.scorer.client.time", clock)
    return clock


@pytest.fixture
def paused() -> list[float]:
    """The pauses that a client would have made."""
    return []


def patient(url: str, paused: list[float], **knobs: float) -> ScorerClient:
    """A client that writes down its pauses in place of sleeping."""
    return ScorerClient(url, pause=paused.append, **knobs)  # type: ignore[arg-type]


def why(client: ScorerClient) -> str:
    """What the client says when it fails."""
    with pytest.raises(ScorerFailed) as failed:
        client.score(PROMPTS, RESPONSES)
    return str(failed.value)


def test_scores_come_in_the_order_of_the_pairs_whatever_the_batches() -> None:
    with talking(lengths) as server:
        assert ScorerClient(server.url + "/", batch_size=2).score(PROMPTS, RESPONSES) == RIGHT
    assert [(a.path, len(a.body["prompts"])) for a in server.asked] == [("/score_batch", 2), ("/score_batch", 1)]


def test_nothing_is_asked_about_nothing() -> None:
    assert ScorerClient("http://127.0.0.1:1").score([], []) == []


def test_pairs_must_be_pairs() -> None:
    with pytest.raises(ValueError, match="there are 3 prompts and 2 responses"):
        ScorerClient("http://127.0.0.1:1").score(PROMPTS, RESPONSES[:2])


@pytest.mark.parametrize("url", ["node7:8000", "file:///etc/passwd", ""])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must begin with http:// or https://"):
        ScorerClient(url)


def test_a_renewed_token_is_shown_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with talking(lengths) as server:
        client = ScorerClient(server.url, token_file=file)
        for token in ("first", "second"):
            file.write_text(f"{token}\n")
            client.score(PROMPTS, RESPONSES)
    assert [a.headers["Authorization"] for a in server.asked] == ["Bearer first", "Bearer second"]


def test_a_scorer_that_recovers_is_asked_again(paused: list[float]) -> None:
    with talking(PROBLEM, Said("oops, no JSON"), lengths) as server:
        assert patient(server.url, paused).score(PROMPTS, RESPONSES) == RIGHT
    assert 0.25 <= paused[0] <= 0.5 and 0.5 <= paused[1] <= 1.0


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (PROBLEM, "500 .*out of memory.* \\(asked 3 times\\)"),
        (Said('{"rewards": [1, 2, NaN], "costs": [1, 2, 3]}'), "rewards\\[2\\] must be a finite number, and is nan"),
        (Said('{"rewards": [1, 2, 3], "costs": [1, Infinity, 3]}'), "costs\\[1\\] must be a finite number, and is inf"),
        (Said('{"rewards": [1, 2, 3], "costs": [1, null, 3]}'), "costs\\[1\\] must be a finite number, and is None"),
        (Said('{"rewards": [1, 2, 3], "costs": [1, true, 3]}'), "costs\\[1\\] must be a finite number, and is True"),
        (Said('{"rewards": [1, 2], "costs": [1, 2]}'), "rewards must be a list of 3 numbers, and is 2"),
        (Said('{"rewards": [1, 2, 3, 4], "costs": [1, 2, 3, 4]}'), "a list of 3 numbers, and is 4"),
        (Said('{"rewards": [1, 2, 3]}'), "costs must be a list of 3 numbers, and is None"),
        (Said("[1, 2, 3]"), "the answer is no JSON object"),
        (Said('{"rewards": [1,', headers={"Content-Length": "99"}), "Expecting value"),
    ],
)
def test_what_is_no_score_never_becomes_one(said: Said, words: str, paused: list[float]) -> None:
    with talking(said) as server, pytest.raises(ScorerFailed, match=words):
        patient(server.url, paused).score(PROMPTS, RESPONSES)
    assert len(server.asked) == 3 and len(paused) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_what_the_scorer_refuses_is_not_asked_again(status: int, paused: list[float]) -> None:
    refusing = talking(Said('{"detail": "because"}', status))
    with refusing as server, pytest.raises(ScorerRefused, match=f"gave no scores: {status} .*because"):
        patient(server.url, paused).score(PROMPTS, RESPONSES)
    assert len(server.asked) == 1 and paused == []


def test_a_token_that_is_not_there_is_not_waited_for(tmp_path: Path, paused: list[float]) -> None:
    with talking(lengths) as server, pytest.raises(ScorerRefused, match=r"its token cannot be read: .*nowhere"):
        patient(server.url, paused, token_file=tmp_path / "nowhere").score(PROMPTS, RESPONSES)  # type: ignore[arg-type]
    assert server.asked == [] and paused == []


def test_the_token_is_not_carried_elsewhere(paused: list[float]) -> None:
    with talking(lengths) as elsewhere, talking(Said("", 307, {"Location": elsewhere.url})) as server:
        assert "307" in why(patient(server.url, paused, token="secret"))  # type: ignore[arg-type]
    assert elsewhere.asked == []


def test_a_busy_scorer_is_waited_for_as_long_as_it_says(paused: list[float]) -> None:
    busy = Said('{"detail": "the queue is full"}', 429, {"Retry-After": "7"})
    with talking(busy, busy, busy, busy, lengths) as server:
        assert patient(server.url, paused).score(PROMPTS, RESPONSES) == RIGHT
    assert paused == [7.0] * 4


def test_a_slow_scorer_has_failed_after_the_time_that_one_try_has() -> None:
    with talking(Said("{}", after=PATIENCE_SECONDS)) as server:
        assert "timed out (asked once)" in why(ScorerClient(server.url, tries=1, timeout_seconds=0.05))


def test_a_dripping_scorer_has_failed_too(clock: Clock) -> None:
    def drip(asked: Asked) -> Said:
        clock.ahead += 2 * PATIENCE_SECONDS
        return Said("x" * 1000, between=0.01)

    with talking(drip) as server:
        client = ScorerClient(server.url, tries=1, timeout_seconds=PATIENCE_SECONDS, deadline_seconds=PATIENCE_SECONDS)
        assert "did not end in time" in why(client)


def test_the_deadline_holds_for_a_call_and_not_for_a_try(clock: Clock) -> None:
    def pause(seconds: float) -> None:
        clock.ahead += seconds

    with talking(PROBLEM) as server:
        reason = why(ScorerClient(server.url, tries=0, deadline_seconds=PATIENCE_SECONDS, pause=pause))
    assert f"no scores within {PATIENCE_SECONDS:g} s: 500" in reason
    assert clock.ahead > PATIENCE_SECONDS / 2 and len(server.asked) > 3


def test_a_scorer_that_was_killed_is_waited_for_where_the_client_is_told_to() -> None:
    with talking(lengths) as server:
        port = int(server.url.rpartition(":")[2])
    scores: list[Scores] = []
    has_failed, is_back = threading.Event(), threading.Event()

    def pause(seconds: float) -> None:
        has_failed.set()
        is_back.wait(PATIENCE_SECONDS)

    client = ScorerClient(server.url, tries=0, deadline_seconds=PATIENCE_SECONDS, pause=pause)
    training = threading.Thread(target=lambda: scores.extend(client.score(PROMPTS, RESPONSES)))
    training.start()
    assert has_failed.wait(PATIENCE_SECONDS)
    assert scores == []
    with talking(lengths, port=port):
        is_back.set()
        training.join()
    assert scores == RIGHT


def test_a_scorer_that_is_gone_is_named() -> None:
    said = why(ScorerClient("http://127.0.0.1:1", tries=1))
    assert said.startswith("the scorer at http://127.0.0.1:1 gave no scores: ") and "refused" in said
