"""Servers that speak the part of vLLM's HTTP interface that a check of the server calls."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MODEL = "Qwen/Qwen2.5-1.5B-Instruct"


def routes_of(
    *,
    model: str = MODEL,
    transfer: dict[str, str] | None = None,
    logprobs_mode: str = "processed_logprobs",
    gpus: int = 2,
) -> dict[str, Any]:
    """Return path -> reply, as vLLM 0.22.1 replies in development mode."""
    settings = {
        "weight_transfer_config": {"backend": "nccl"} if transfer is None else transfer or None,
        "model_config": {"model": model, "logprobs_mode": logprobs_mode},
    }
    return {
        "/health": None,
        "/v1/models": {"object": "list", "data": [{"id": model, "root": model, "parent": None}]},
        "/server_info?config_format=json": {"vllm_config": settings, "vllm_env": {}, "system_env": {}},
        "/get_world_size": {"world_size": gpus},
    }


@contextmanager
def serve(routes: dict[str, Any]) -> Iterator[str]:
    """Serve these replies on a free port, and 404 for all other paths. Yield the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reply = routes.get(self.path, 404)
            if isinstance(reply, int):
                self.send_error(reply)
                return
            body = reply if isinstance(reply, bytes) else b"" if reply is None else json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
