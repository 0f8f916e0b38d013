"""The limits of a scorer service: refusals with their sentences, and counts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx

from tests.cases import each_case
from tests.workers.scorer.in_process_scorer import Lengths, served, texts
from workers.scorer.service.limits import Limits

SMALL = Limits(body_bytes=1000, texts=3, characters=20)


def asking(ask: Callable[[httpx.AsyncClient], Awaitable[httpx.Response]], token: str = "") -> httpx.Response:
    """Return the response of a service with small limits."""

    async def answer() -> httpx.Response:
        async with served(Lengths(), SMALL, token) as client:
            return await ask(client)

    return asyncio.run(answer())


async def chunks() -> AsyncIterator[bytes]:
    """Yield a body of unknown length."""
    for _ in range(20):
        yield b" " * 100


@each_case(
    ("path", "body", "status", "words"),
    [
        ("/score_texts", texts("a", "b", "c", "d"), 413, "a request may have at most 3 texts, not 4: send fewer"),
        ("/score_texts", texts("a", "b" * 21), 422, "text 1 has 21 characters, but at most 20 are allowed: shorten it"),
        ("/score_texts", texts("a" * 2000), 413, "a request may have at most 1000 bytes: send fewer or shorter texts"),
        ("/score_texts", {"texts": [1]}, 422, "body.texts.0: Input should be a valid string"),
        ("/score_batch", {"prompts": ["a"]}, 422, "body.responses: Field required"),
        (
            "/score",
            {"prompts": ["a"], "responses": []},
            400,
            "must match: there are 1 prompts and 0 responses",
        ),
        ("/score_texts", texts("nan"), 500, "the reward model returned a score that is not a finite number"),
        ("/score_texts", texts("poison"), 500, "RuntimeError: no model can read this"),
        ("/nowhere", {}, 404, "Not Found"),
        ("/docs", {}, 404, "Not Found"),
    ],
)
def test_refused_request_is_answered_with_reason(
    path: str, body: dict[str, list[str]], status: int, words: str
) -> None:
    answer = asking(lambda client: client.post(path, json=body))
    assert answer.status_code == status
    assert words in answer.json()["detail"]


def test_body_of_unknown_length_is_limited() -> None:
    answer = asking(lambda client: client.post("/score_texts", content=chunks()))
    assert (answer.status_code, "1000 bytes" in answer.text) == (413, True)


@each_case("path", ["/score", "/score_batch", "/score_texts", "/metrics", "/nowhere"])
@each_case("header", [None, "Bearer wrong", "Bearer ", "secret", "Basic secret"])
def test_request_without_token_is_refused(path: str, header: str | None) -> None:
    headers = {"Authorization": header} if header else {}
    answer = asking(lambda client: client.post(path, json=texts("a"), headers=headers), token="secret")
    assert answer.status_code == 401 and answer.headers["WWW-Authenticate"] == "Bearer"
    assert "Authorization: Bearer TOKEN" in answer.json()["detail"]


def test_token_is_required_except_for_health() -> None:
    headers = {"Authorization": "Bearer secret"}
    answer = asking(lambda client: client.post("/score_texts", json=texts("abc"), headers=headers), token="secret")
    assert answer.json() == {"rewards": [3.0], "costs": [3.0]}
    assert asking(lambda client: client.get("/health"), token="secret").json() == {"status": "healthy", "device": "cpu"}


def test_metrics_count_requests_and_texts() -> None:
    async def counted(client: httpx.AsyncClient) -> httpx.Response:
        await client.post("/score_texts", json=texts("a", "b"))
        await client.post("/score_texts", json=texts("poison"))
        await client.get("/whatever/0815")
        return await client.get("/metrics")

    metrics = asking(counted).text.splitlines()
    assert {
        'scorer_requests_total{route="/score_texts",status="200"} 1.0',
        'scorer_requests_total{route="/score_texts",status="500"} 1.0',
        'scorer_requests_total{route="other",status="404"} 1.0',
        "scorer_texts_total 2.0",
        "scorer_failed_total 1.0",
        'scorer_truncated_total{model="reward"} 1.0',
        "scorer_waiting_texts 0.0",
        "scorer_batch_texts_count 2.0",
    } <= set(metrics)
