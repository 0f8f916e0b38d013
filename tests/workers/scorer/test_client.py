"""The client of a scorer: every score comes from the scorer, or there is none and the reason is reported."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cases import each_case
from tests.waiting import PATIENCE_SECONDS
from tests.workers.scorer.scripted_scorer import ScorerRequest, ScriptedReply, lengths, scripted_scorer
from workers.scorer.client import ScorerClient, ScorerFailed, ScorerRefused, Scores

PROMPTS, RESPONSES = ["a", "bb", "ccc"], ["four", "fives", "sixsix"]
RIGHT = [Scores(4.0, 1.0), Scores(5.0, 2.0), Scores(6.0, 3.0)]
PROBLEM = ScriptedReply('{"detail": "out of memory"}', 500)


@dataclass
class Clock:
    """The client's clock: it runs like any other, and a test may put it ahead."""

    ahead: float = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the clock of every client in this test."""
    clock = Clock()
    monkeypatch.setattr("workers.scorer.client.time", clock)
    return clock


@pytest.fixture
def paused() -> list[float]:
    """Collect the pauses that a client would have made."""
    return []


def patient(url: str, paused: list[float], **options: float) -> ScorerClient:
    """Return a client that records its pauses instead of sleeping."""
    return ScorerClient(url, pause=paused.append, **options)  # type: ignore[arg-type]


def failure_message(client: ScorerClient) -> str:
    """Return the message with which the client fails."""
    with pytest.raises(ScorerFailed) as failed:
        client.score(PROMPTS, RESPONSES)
    return str(failed.value)


def test_scores_keep_order_of_pairs_across_batches() -> None:
    with scripted_scorer(lengths) as server:
        assert ScorerClient(server.url + "/", batch_size=2).score(PROMPTS, RESPONSES) == RIGHT
    assert [(a.path, len(a.body["prompts"])) for a in server.requests] == [("/score_batch", 2), ("/score_batch", 1)]


def test_no_pairs_need_no_request() -> None:
    assert ScorerClient("http://127.0.0.1:1").score([], []) == []


def test_unequal_numbers_of_prompts_and_responses_are_refused() -> None:
    with pytest.raises(ValueError, match="there are 3 prompts and 2 responses"):
        ScorerClient("http://127.0.0.1:1").score(PROMPTS, RESPONSES[:2])


@pytest.mark.parametrize("url", ["node7:8000", "file:///etc/passwd", ""])
def test_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must begin with http:// or https://"):
        ScorerClient(url)


def test_renewed_token_is_used_for_next_request(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with scripted_scorer(lengths) as server:
        client = ScorerClient(server.url, token_file=file)
        for token in ("first", "second"):
            file.write_text(f"{token}\n")
            client.score(PROMPTS, RESPONSES)
    assert [a.headers["Authorization"] for a in server.requests] == ["Bearer first", "Bearer second"]


def test_failed_request_is_retried(paused: list[float]) -> None:
    with scripted_scorer(PROBLEM, ScriptedReply("oops, no JSON"), lengths) as server:
        assert patient(server.url, paused).score(PROMPTS, RESPONSES) == RIGHT
    assert 0.25 <= paused[0] <= 0.5 and 0.5 <= paused[1] <= 1.0


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (PROBLEM, "500 Internal Server Error \\(asked 3 times\\)"),
        (
            ScriptedReply('{"rewards": [1, 2, NaN], "costs": [1, 2, 3]}'),
            "rewards\\[2\\] must be a finite number, not nan",
        ),
        (
            ScriptedReply('{"rewards": [1, 2, 3], "costs": [1, Infinity, 3]}'),
            "costs\\[1\\] must be a finite number, not inf",
        ),
        (
            ScriptedReply('{"rewards": [1, 2, 3], "costs": [1, null, 3]}'),
            "costs\\[1\\] must be a finite number, not None",
        ),
        (
            ScriptedReply('{"rewards": [1, 2, 3], "costs": [1, true, 3]}'),
            "costs\\[1\\] must be a finite number, not True",
        ),
        (ScriptedReply('{"rewards": [1, 2], "costs": [1, 2]}'), "rewards must be a list of 3 numbers, not 2"),
        (ScriptedReply('{"rewards": [1, 2, 3, 4], "costs": [1, 2, 3, 4]}'), "a list of 3 numbers, not 4"),
        (ScriptedReply('{"rewards": [1, 2, 3]}'), "costs must be a list of 3 numbers, not None"),
        (ScriptedReply("[1, 2, 3]"), "the response is not a JSON object"),
        (ScriptedReply('{"rewards": [1,', headers={"Content-Length": "99"}), "the response is not JSON"),
    ],
)
def test_invalid_reply_is_never_a_score(reply: ScriptedReply, words: str, paused: list[float]) -> None:
    with scripted_scorer(reply) as server, pytest.raises(ScorerFailed, match=words):
        patient(server.url, paused).score(PROMPTS, RESPONSES)
    assert len(server.requests) == 3 and len(paused) == 2


@each_case(
    "body",
    [
        '{"rewards": ["4", "5.0", " 6e0 "], "costs": [1, "2", 3.0]}',
        '{"rewards": [[4], [5], ["6"]], "costs": [1, 2, 3]}',
        '{"result": {"rewards": [4, 5, 6], "costs": [1, 2, 3]}, "model": "rm"}',
        '{"rewards": [4, 5, 6,], "costs": [1, 2, 3,],}',
        '{"note": "first\nsecond\t\\(x\\)", "rewards": [4, 5, 6], "costs": [1, 2, 3]}',
        "{'rewards': [4, 5, 6], 'costs': [1, 2, 3], 'error': None}",
        '\ufeff{"rewards": [4, 5, 6], "costs": [1, 2, 3], "rewards": [4, 5, 6]}\n',
        '{"rewards": [4, 5, 6], // of the reward model\n"costs": [1, 2, 3]}',
    ],
)
def test_scores_are_read_from_json_that_is_not_strict(body: str) -> None:
    with scripted_scorer(ScriptedReply(body, headers={"Content-Length": str(len(body.encode()))})) as server:
        assert ScorerClient(server.url, tries=1).score(PROMPTS, RESPONSES) == RIGHT


@each_case(
    ("rewards", "words"),
    [
        ('["NaN", 5, 6]', "rewards[0] must be a finite number, not str"),
        ('["high", 5, 6]', "rewards[0] must be a finite number, not str"),
        ('["4/10", 5, 6]', "rewards[0] must be a finite number, not str"),
        ('["true", 5, 6]', "rewards[0] must be a finite number, not str"),
        ("[true, 5, 6]", "rewards[0] must be a finite number, not True"),
        ("[True, 5, 6,]", "rewards[0] must be a finite number, not True"),
        ("[-Infinity, 5, 6,]", "rewards[0] must be a finite number, not -inf"),
        ("[4, 5, 1e999]", "rewards[2] must be a finite number, not inf"),
        ('[4, 5, "1e999"]', "rewards[2] must be a finite number, not inf"),
        (f"[4, 5, {'9' * 400}]", "rewards[2] must be a finite number, not int"),
        (f"[4, 5, {'9' * 5000}]", "rewards[2] must be a finite number, not inf"),
        ("[4, 5, [6, 7]]", "rewards[2] must be a finite number, not list"),
        ("[4, 5, [[6]]]", "rewards[2] must be a finite number, not list"),
        ("[4, 5, {}]", "rewards[2] must be a finite number, not dict"),
        ("[[4, 5, 6]]", "rewards must be a list of 3 numbers, not 1"),
        ("[0,4, 0,5, 0,6]", "rewards must be a list of 3 numbers, not 6"),
        ('"4, 5, 6"', "rewards must be a list of 3 numbers, not str"),
        ('[4, 5, 6], "rewards": [4, 5, 7]', "rewards is in the response 2 times, with different values"),
        ("[4, 5, 6", "the response is not JSON: it ends too early"),
        ('[4, 5, 6]} {"rewards": [7, 8, 9]', "text follows the JSON object"),
    ],
)
def test_value_that_is_no_score_is_refused_and_named(rewards: str, words: str) -> None:
    costs = "" if words.endswith("early") else "}"
    body = f'{{"costs": [1, 2, 3], "rewards": {rewards}{costs}'
    with scripted_scorer(ScriptedReply(body)) as server:
        assert words in failure_message(ScorerClient(server.url, tries=1))


@each_case(
    "body",
    [
        '{"a": {"rewards": [4, 5, 6], "costs": [1, 2, 3]}, "b": {"rewards": [4, 5, 7], "costs": [1, 2, 3]}}',
        '{"rewards": [4, 5, 6], "more": {"costs": [1, 2, 3]}}',
        '{"scores": [4, 5, 6]}',
    ],
)
def test_scores_are_not_collected_from_several_objects(body: str) -> None:
    with scripted_scorer(ScriptedReply(body)) as server:
        assert "must be a list of 3 numbers, not None" in failure_message(ScorerClient(server.url, tries=1))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_refused_request_is_not_retried(status: int, paused: list[float]) -> None:
    refusing = scripted_scorer(ScriptedReply('{"detail": "because"}', status))
    with refusing as server, pytest.raises(ScorerRefused, match=f"gave no scores: {status} [A-Z][A-Za-z ]*$"):
        patient(server.url, paused).score(PROMPTS, RESPONSES)
    assert len(server.requests) == 1 and paused == []


def test_missing_token_file_is_refused_without_retry(tmp_path: Path, paused: list[float]) -> None:
    with scripted_scorer(lengths) as server, pytest.raises(ScorerRefused, match=r"its token cannot be read: .*nowhere"):
        patient(server.url, paused, token_file=tmp_path / "nowhere").score(PROMPTS, RESPONSES)  # type: ignore[arg-type]
    assert server.requests == [] and paused == []


def test_token_is_not_sent_to_redirect(paused: list[float]) -> None:
    with (
        scripted_scorer(lengths) as elsewhere,
        scripted_scorer(ScriptedReply("", 307, {"Location": elsewhere.url})) as server,
    ):
        assert "307" in failure_message(patient(server.url, paused, token="secret"))  # type: ignore[arg-type]
    assert elsewhere.requests == []


def test_busy_scorer_is_retried_after_its_retry_after(paused: list[float]) -> None:
    busy = ScriptedReply('{"detail": "the queue is full"}', 429, {"Retry-After": "7"})
    with scripted_scorer(busy, busy, busy, busy, lengths) as server:
        assert patient(server.url, paused).score(PROMPTS, RESPONSES) == RIGHT
    assert paused == [7.0] * 4


def test_slow_scorer_fails_after_timeout() -> None:
    with scripted_scorer(ScriptedReply("{}", after=PATIENCE_SECONDS)) as server:
        assert "timed out (asked once)" in failure_message(ScorerClient(server.url, tries=1, timeout_seconds=0.05))


def test_dripping_scorer_fails_after_deadline(clock: Clock) -> None:
    def drip(request: ScorerRequest) -> ScriptedReply:
        clock.ahead += 2 * PATIENCE_SECONDS
        return ScriptedReply("x" * 1000, between=0.01)

    with scripted_scorer(drip) as server:
        client = ScorerClient(server.url, tries=1, timeout_seconds=PATIENCE_SECONDS, deadline_seconds=PATIENCE_SECONDS)
        assert "did not end in time" in failure_message(client)


def test_deadline_applies_to_whole_call(clock: Clock) -> None:
    def pause(seconds: float) -> None:
        clock.ahead += seconds

    with scripted_scorer(PROBLEM) as server:
        reason = failure_message(ScorerClient(server.url, tries=0, deadline_seconds=PATIENCE_SECONDS, pause=pause))
    assert f"no scores within {PATIENCE_SECONDS:g} s: 500" in reason
    assert clock.ahead > PATIENCE_SECONDS / 2 and len(server.requests) > 3


def test_client_waits_for_restarted_scorer() -> None:
    with scripted_scorer(lengths) as server:
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
    with scripted_scorer(lengths, port=port):
        is_back.set()
        training.join()
    assert scores == RIGHT


def test_unreachable_scorer_is_named() -> None:
    message = failure_message(ScorerClient("http://127.0.0.1:1", tries=1))
    assert message.startswith("the scorer at http://127.0.0.1:1 gave no scores: ") and "refused" in message
