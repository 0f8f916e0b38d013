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
from workers.scorer.service.batching import Full, Line
from workers.scorer.service.guard import Guard
from workers.scorer.service.limits import Limits
from workers.scorer.service.metrics import Metrics

LOOK_SECONDS = 1.0
MOST_SAID = 5
"""Mistakes of one request that its answer names."""
HUNG_UP = 499
"""What logs and counts call it; nobody is there to read it."""


class Pairs(BaseModel):
    """Prompts and the responses to them, in the same order."""

    prompts: list[str]
    responses: list[str]


class Texts(BaseModel):
    """Whole conversations, as Safe-RLHF writes them."""

    texts: list[str]


class Told(BaseModel):
    """One reward and one cost for each text, in order."""

    rewards: list[float]
    costs: list[float]


def application(line: Line, limits: Limits, metrics: Metrics, token: Callable[[], str]) -> FastAPI:
    """The service. `line` is running; `token` says the present token, "" where none is wanted."""
    # Pages with documentation would load their scripts from elsewhere.
    app = FastAPI(title="Scorer", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(Guard, limits=limits, metrics=metrics, token=token)

    @app.exception_handler(RequestValidationError)
    async def misshapen(request: Request, error: RequestValidationError) -> JSONResponse:
        wrong = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:MOST_SAID]]
        return JSONResponse({"detail": "; ".join(wrong)}, 422)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "healthy", "device": line.reward.device}

    @app.get("/metrics")
    async def counts() -> Response:
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @app.post("/score")
    @app.post("/score_batch")
    async def pairs(asked: Pairs, request: Request) -> Told:
        if len(asked.prompts) != len(asked.responses):
            counted = f"{len(asked.prompts)} prompts and {len(asked.responses)} responses"
            raise HTTPException(400, f"Number of prompts and responses must match: there are {counted}")
        texts = [conversation(*pair) for pair in zip(asked.prompts, asked.responses, strict=True)]
        return await _told(line, limits, texts, request)

    @app.post("/score_texts")
    async def texts(asked: Texts, request: Request) -> Told:
        return await _told(line, limits, asked.texts, request)

    return app


async def _told(line: Line, limits: Limits, texts: Sequence[str], request: Request) -> Told:
    _check(texts, limits)
    try:
        scores = await _unless_gone(line.scores(texts), request)
    except Full as full:
        raise HTTPException(429, str(full), {"Retry-After": str(full.seconds)}) from full
    except HTTPException:
        raise
    except Exception as error:
        raise HTTPException(500, f"Error scoring texts: {type(error).__name__}: {error}") from error
    return Told(rewards=[one.reward for one in scores], costs=[one.cost for one in scores])


def _check(texts: Sequence[str], limits: Limits) -> None:
    if len(texts) > limits.texts:
        raise HTTPException(413, f"a request may have {limits.texts} texts, and this one has {len(texts)}: send fewer")
    for n, text in enumerate(texts):
        if len(text) > limits.characters:
            raise HTTPException(
                422, f"text {n} has {len(text)} characters, and {limits.characters} are allowed: shorten it"
            )


async def _unless_gone(asked: Coroutine[None, None, list[Scores]], request: Request) -> list[Scores]:
    """What was asked for; given up once the client has hung up, so that one who tries again is not in line twice."""
    scoring = asyncio.ensure_future(asked)
    while not (await asyncio.wait([scoring], timeout=LOOK_SECONDS))[0]:
        if await request.is_disconnected():
            scoring.cancel()
            raise HTTPException(HUNG_UP, "the client has hung up")
    return await scoring
