"""Texts of many clients go through the models together; no client is hurt by another's, and none waits for ever."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from tests.waiting import wait_until_async
from tests.workers.scorer.in_process_scorer import Lengths, served, texts
from workers.scorer.service.limits import Limits


async def score(client: httpx.AsyncClient, *said: str) -> httpx.Response:
    return await client.post("/score_texts", json=texts(*said))


async def waiting(client: httpx.AsyncClient, count: int) -> None:
    """Wait until so many texts stand in the queue."""

    async def is_reached() -> bool:
        return f"scorer_waiting_texts {count}.0" in (await client.get("/metrics")).text.splitlines()

    await wait_until_async(is_reached, f"{count} texts to stand in the queue")


async def scoring(model: Lengths) -> None:
    """Wait until the model scores its first batch."""

    async def has_begun() -> bool:
        return bool(model.batches)

    await wait_until_async(has_begun, "the model to get its first batch")


def test_clients_share_a_batch_and_get_their_own_scores_in_order() -> None:
    model = Lengths()

    async def asked() -> list[Any]:
        async with served(model, Limits(batch=4)) as client:
            model.may.clear()
            first = asyncio.create_task(score(client, "x"))
            await scoring(model)
            others = [asyncio.create_task(score(client, "a" * n, "b" * n)) for n in (1, 2, 3)]
            await waiting(client, 6)
            model.may.set()
            return [(await one).json()["rewards"] for one in (first, *others)]

    assert asyncio.run(asked()) == [[1.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    assert model.batches == [1, 4, 2]


def test_a_text_that_no_model_can_score_fails_its_own_request_alone() -> None:
    model = Lengths()

    async def asked() -> list[httpx.Response]:
        async with served(model) as client:
            model.may.clear()
            first = asyncio.create_task(score(client, "x"))
            await scoring(model)
            others = [asyncio.create_task(score(client, *said)) for said in (("good", "text"), ("fine", "poison"))]
            await waiting(client, 4)
            model.may.set()
            return [await one for one in (first, *others)]

    answers = asyncio.run(asked())
    assert [answer.status_code for answer in answers] == [200, 200, 500]
    assert answers[1].json()["rewards"] == [4.0, 4.0]


def test_a_full_line_says_when_to_come_again() -> None:
    model = Lengths()

    async def asked() -> tuple[httpx.Response, httpx.Response]:
        async with served(model, Limits(waiting=2)) as client:
            model.may.clear()
            first = asyncio.create_task(score(client, "x"))
            await scoring(model)
            waits = asyncio.create_task(score(client, "a", "b"))
            await waiting(client, 2)
            refused = await score(client, "c")
            model.may.set()
            assert (await first).status_code == 200
            return refused, await waits

    refused, waited = asyncio.run(asked())
    assert refused.status_code == 429 and int(refused.headers["Retry-After"]) >= 1
    assert "2 texts wait already: ask again in" in refused.json()["detail"]
    assert waited.json()["rewards"] == [1.0, 1.0]


def test_one_request_longer_than_the_line_is_taken_where_nobody_waits() -> None:
    async def asked() -> httpx.Response:
        async with served(Lengths(), Limits(waiting=2)) as client:
            return await score(client, "a", "b", "c")

    assert asyncio.run(asked()).json()["rewards"] == [1.0, 1.0, 1.0]
