"""Check that a vLLM server can generate for a GRPO trainer: it answers, receives weights and has the run's model.

TRL 1.16 calls vLLM's own server: `/health`, `/v1/models`, and `/server_info` and `/get_world_size`, which only a server
in development mode has. Stdlib only.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
from pathlib import PurePosixPath
from typing import Any

from workers.bearer import OPENER

SECONDS = 10.0
INFO_SECONDS = 60.0
"""For `/server_info`, which lists the server's packages and GPUs when it is called first."""
MAX_BYTES = 16 * 2**20
NOT_FOUND = 404
NO_DEVELOPMENT_MODE = "has no route {route}, over which TRL sends the weights: it runs without VLLM_SERVER_DEV_MODE=1"
NO_WEIGHT_TRANSFER = "has no engine for weight transfer: it runs without --weight-transfer-config"
OTHER_LOGPROBS = (
    "returns {mode}, with which TRL's correction of the sampling is biased: it runs without --logprobs-mode "
    "processed_logprobs"
)
OTHER_MODEL = (
    "serves {served}, and the model of the run is {model}. If they are the same, give --served-model-name {model}"
)


class UnusableServer(Exception):
    """A server that cannot generate for the run. The message is a predicate: "does not answer: …"."""


def check_vllm_server(address: str, model: str) -> int:
    """Return the number of GPUs of a server. Raise UnusableServer."""
    address = address.rstrip("/")
    _get(f"{address}/health")
    _check_model(_get_json(f"{address}/v1/models"), model)
    try:
        settings = _get_json(f"{address}/server_info?config_format=json", INFO_SECONDS)["vllm_config"]
        transfer, logprobs = settings["weight_transfer_config"], settings["model_config"]["logprobs_mode"]
        world_size = int(_get_json(f"{address}/get_world_size")["world_size"])
    except (KeyError, TypeError, ValueError) as error:
        raise UnusableServer(f"does not describe itself as vLLM does: {error!r}") from error
    if transfer is None:
        raise UnusableServer(NO_WEIGHT_TRANSFER)
    if logprobs != "processed_logprobs":
        raise UnusableServer(OTHER_LOGPROBS.format(mode=logprobs))
    return world_size


def start_command(model: str) -> str:
    """Return the command that starts a server for a run with this model, in vLLM's environment."""
    return (
        f"VLLM_SERVER_DEV_MODE=1 .venv-vllm/bin/vllm serve {model} --logprobs-mode processed_logprobs "
        """--weight-transfer-config '{"backend": "nccl"}'"""
    )


def _check_model(reply: Any, model: str) -> None:
    """Raise UnusableServer if no name or path that the server lists ends as the run's does.

    A folder may have another path on the server's machine, so the last parts are compared.
    """
    try:
        listed = [card for card in reply["data"] if not card.get("parent")]
        names = list(dict.fromkeys(str(name) for card in listed for name in (card["id"], card.get("root")) if name))
    except (AttributeError, KeyError, TypeError) as error:
        raise UnusableServer(f"does not list its models as vLLM does: {error!r}") from error
    if _last_part(model) not in map(_last_part, names):
        raise UnusableServer(OTHER_MODEL.format(served=" and ".join(names) or "no model", model=model))


def _last_part(name: str) -> str:
    return PurePosixPath(name).name


def _get_json(url: str, seconds: float = SECONDS) -> Any:
    body = _get(url, seconds)
    try:
        return json.loads(body)
    except ValueError as error:
        raise UnusableServer(f"does not answer {url} with JSON: {error}") from error


def _get(url: str, seconds: float = SECONDS) -> bytes:
    try:
        with OPENER.open(url, timeout=seconds) as response:
            return bytes(response.read(MAX_BYTES))
    except urllib.error.HTTPError as error:
        error.close()
        route = url.partition("?")[0]
        if error.code == NOT_FOUND and route.endswith(("/server_info", "/get_world_size")):
            raise UnusableServer(NO_DEVELOPMENT_MODE.format(route=route)) from error
        raise UnusableServer(f"answers {route} with status {error.code}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise UnusableServer(f"does not answer: {reason}") from error
