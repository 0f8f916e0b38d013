"""Texts of many clients are scored together; a client's failure affects no other, and no request waits for ever."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from tests.waiting import wait_until_async
from tests.workers.scorer.in_process_scorer import Lengths, served, texts
from workers.scorer.service.limits import Limits


async def score(client: httpx.AsyncClient, *values: str) -> httpx.Response:
    return await client.post("/score_texts", json=texts(*values))


async def wait_for_queue(client: httpx.AsyncClient, count: int) -> None:
    """Wait until so many texts are in the queue."""

    async def is_reached() -> bool:
        return f"scorer_waiting_texts {count}.0" in (await client.get("/metrics")).text.splitlines()

    await wait_until_async(is_reached, f"{count} texts to stand in the queue")


async def wait_for_first_batch(model: Lengths) -> None:
    """Wait until the model scores its first batch."""

    async def has_begun() -> bool:
        return bool(model.batches)

    await wait_until_async(has_begun, "the model to get its first batch")


def test_clients_in_one_batch_get_own_scores() -> None:
    model = Lengths()

    async def collect_scores() -> list[Any]:
        async with served(model, Limits(batch=4)) as client:
            model.may.clear()
            first = asyncio.create_task(score(client, "x"))
            await wait_for_first_batch(model)
            others = [asyncio.create_task(score(client, "a" * n, "b" * n)) for n in (1, 2, 3)]
            await wait_for_queue(client, 6)
            model.may.set()
            return [(await task).json()["rewards"] for task in (first, *others)]

    assert asyncio.run(collect_scores()) == [[1.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    assert model.batches == [1, 4, 2]


def test_unscorable_text_fails_only_its_request() -> None:
    model = Lengths()

    async def collect_responses() -> list[httpx.Response]:
        async with served(model) as client:
            model.may.clear()
            first = asyncio.create_task(score(client, "x"))
            await wait_for_first_batch(model)
            others = [asyncio.create_task(score(client, *batch)) for batch in (("good", "text"), ("fine", "poison"))]
            await wait_for_queue(client, 4)
            model.may.set()
            return [await task for task in (first, *others)]

    answers = asyncio.run(collect_responses())
    assert [answer.status_code for answer in answers] == [200, 200, 500]
    assert answers[1].json()["rewards"] == [4.0, 4.0]


def test_full_queue_is_refused_with_retry_after() -> None:
    model = Lengths()

    async def collect_responses() -> tuple[httpx.Response, httpx.Response]:
        async with served(model, Limits(waiting=2)) as client:
            model.may.clear()
            first = asyncio.create_task(score(client, "x"))
            await wait_for_first_batch(model)
            waits = asyncio.create_task(score(client, "a", "b"))
            await wait_for_queue(client, 2)
            refused = await score(client, "c")
            model.may.set()
            assert (await first).status_code == 200
            return refused, await waits

    refused, waited = asyncio.run(collect_responses())
    assert refused.status_code == 429 and int(refused.headers["Retry-After"]) >= 1
    assert "2 texts are already waiting: try again in" in refused.json()["detail"]
    assert waited.json()["rewards"] == [1.0, 1.0]


def test_request_longer_than_empty_queue_is_accepted() -> None:
    async def post_texts() -> httpx.Response:
        async with served(Lengths(), Limits(waiting=2)) as client:
            return await score(client, "a", "b", "c")

    assert asyncio.run(post_texts()).json()["rewards"] == [1.0, 1.0, 1.0]
