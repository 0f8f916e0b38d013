"""The routes of the published scorer, and /metrics.

GET  /health       -> {"status": "healthy", "device": "cuda"}
POST /score        {"prompts": [...], "responses": [...]} -> {"rewards": [...], "costs": [...]}
POST /score_batch  the same
POST /score_texts  {"texts": [...]}, whole conversations -> the same
GET  /metrics      counts and times, for Prometheus
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel

from workers.scorer.conversation import conversation
from workers.scorer.scores import Scores
from workers.scorer.service.guard import Guard
from workers.scorer.service.limits import Limits
from workers.scorer.service.metrics import Metrics
from workers.scorer.service.queue import QueueFull, ScoringQueue

LOOK_SECONDS = 1.0
MAX_REPORTED_ERRORS = 5
"""The number of mistakes of one request that its response names."""
HUNG_UP = 499
"""The status under which logs and metrics count it; no client reads it."""


class Pairs(BaseModel):
    """Prompts and the responses to them, in the same order."""

    prompts: list[str]
    responses: list[str]


class Texts(BaseModel):
    """Whole conversations, as Safe-RLHF writes them."""

    texts: list[str]


class ScoreReply(BaseModel):
    """The response: one reward and one cost for each text, in order."""

    rewards: list[float]
    costs: list[float]


def application(queue: ScoringQueue, limits: Limits, metrics: Metrics, token: Callable[[], str]) -> FastAPI:
    """Return the service. `queue` is running; `token` returns the current token, "" if none is required."""
    # Pages with documentation would load their scripts from elsewhere.
    app = FastAPI(title="Scorer", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(Guard, limits=limits, metrics=metrics, token=token)

    @app.exception_handler(RequestValidationError)
    async def report_invalid_request(request: Request, error: RequestValidationError) -> JSONResponse:
        problems = [
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            for problem in error.errors()[:MAX_REPORTED_ERRORS]
        ]
        return JSONResponse({"detail": "; ".join(problems)}, 422)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "healthy", "device": queue.reward.device}

    @app.get("/metrics")
    async def counts() -> Response:
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @app.post("/score")
    @app.post("/score_batch")
    async def score_pairs(body: Pairs, request: Request) -> ScoreReply:
        if len(body.prompts) != len(body.responses):
            counted = f"{len(body.prompts)} prompts and {len(body.responses)} responses"
            raise HTTPException(400, f"Number of prompts and responses must match: there are {counted}")
        texts = [conversation(*pair) for pair in zip(body.prompts, body.responses, strict=True)]
        return await _score(queue, limits, texts, request)

    @app.post("/score_texts")
    async def score_texts(body: Texts, request: Request) -> ScoreReply:
        return await _score(queue, limits, body.texts, request)

    return app


async def _score(queue: ScoringQueue, limits: Limits, texts: Sequence[str], request: Request) -> ScoreReply:
    _check(texts, limits)
    try:
        scores = await _unless_disconnected(queue.scores(texts), request)
    except QueueFull as error:
        raise HTTPException(429, str(error), {"Retry-After": str(error.seconds)}) from error
    except HTTPException:
        raise
    except Exception as error:
        raise HTTPException(500, f"Error scoring texts: {type(error).__name__}: {error}") from error
    return ScoreReply(rewards=[text_scores.reward for text_scores in scores], costs=[one.cost for one in scores])


def _check(texts: Sequence[str], limits: Limits) -> None:
    if len(texts) > limits.texts:
        raise HTTPException(413, f"a request may have at most {limits.texts} texts, not {len(texts)}: send fewer")
    for n, text in enumerate(texts):
        if len(text) > limits.characters:
            raise HTTPException(
                422, f"text {n} has {len(text)} characters, but at most {limits.characters} are allowed: shorten it"
            )


async def _unless_disconnected(coroutine: Coroutine[None, None, list[Scores]], request: Request) -> list[Scores]:
    """Return the result; give up once the client has disconnected, so that a client who tries again is not queued
    twice."""
    scoring = asyncio.ensure_future(coroutine)
    while not (await asyncio.wait([scoring], timeout=LOOK_SECONDS))[0]:
        if await request.is_disconnected():
            scoring.cancel()
            raise HTTPException(HUNG_UP, "the client closed the connection")
    return await scoring
