"""The program of an engine: holds the run's weights, and carries out the requests of the training process.

    python -m workers.engines.es.engine_group.program FILE_DESCRIPTOR

It ends when the other side of its connection is closed, and no signal to the job ends it before: the training process
decides when an iteration is given up.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

import torch

from workers import models
from workers.config import RunConfig
from workers.engines.es.backend import DecoderBackEnd, make_backend
from workers.engines.es.batches import BatchPlan
from workers.engines.es.engine_group.serving import Inbox, catch_up, serve
from workers.engines.es.engine_group.wire import (
    Ids,
    Kind,
    pack_members,
    pack_seconds,
    pack_updated,
    send,
    unpack_ids,
    unpack_seeds,
    unpack_update,
)
from workers.engines.es.state import State
from workers.engines.es.trainable import make_trainable


def main(descriptor: int) -> int:
    """Serve the connection until it is closed. Return the exit code."""
    return serve(descriptor, _serve)


@torch.no_grad()
def _serve(connection: Connection, inbox: Inbox) -> NoReturn:
    _, body = inbox.get()
    start = json.loads(body)
    config = RunConfig.from_json(start["config"])
    backend, lineage = _load(config, start)
    send(connection, Kind.READY)
    prompts: Ids = []
    while True:
        kind, body = inbox.get()
        if kind is Kind.CATCH_UP:
            end = body.decode()
            catch_up(backend, config.es_section(), Path(start["log"]), lineage, end)
            lineage = end
            send(connection, Kind.HASH, backend.weights_hash().encode())
        elif kind is Kind.PROMPTS:
            prompts = unpack_ids(body)
        elif kind is Kind.ANSWER:
            _answer(connection, backend, unpack_seeds(body), prompts)
        elif kind is Kind.UPDATE:
            norm = backend.update(*unpack_update(body))
            send(connection, Kind.UPDATED, pack_updated(norm, backend.anchor_distance()))
        elif kind is Kind.HASH:
            send(connection, Kind.HASH, backend.weights_hash().encode())
        elif kind is not Kind.ABANDON:
            raise ValueError(f"{kind.name} is a request for engines of vLLM, and this is none")


def _load(config: RunConfig, start: Mapping[str, Any]) -> tuple[DecoderBackEnd, str]:
    """Return a back end with the weights of the checkpoint or the base model, and their lineage. Raise ConfigError."""
    models.keep_freed_memory()
    models.limit_gpu_memory(config.model, config.compute, processes=max(1, config.es_section().engines))
    torch.set_num_threads(start["threads"])
    loaded, es = models.load(config.model, needs_transformers=config.needs_transformers), config.es_section()
    weights = make_trainable(loaded, es.lora, config.seed, anchored=es.anchor_decay > 0)
    backend = make_backend(loaded, weights, es, start["scales"], BatchPlan(**start["plan"]))
    if start["checkpoint"] is None:
        return backend, start["origin"]
    checkpoint = Path(start["checkpoint"])
    backend.load(checkpoint)
    return backend, State.load(checkpoint).lineage


def _answer(connection: Connection, backend: DecoderBackEnd, seeds: list[int], prompts: Ids) -> None:
    """Send members' responses as they complete, while the GPU continues with the others; then the batch's seconds."""
    began = time.perf_counter()
    parts = backend.answer_each(seeds, prompts) if seeds else iter([[backend.answer_centre(prompts)]])
    for answers in parts:
        send(connection, Kind.MEMBERS, pack_members(answers))
    seconds = time.perf_counter() - began
    send(connection, Kind.ANSWERED, pack_seconds(seconds, backend.phases.take_finished()))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
