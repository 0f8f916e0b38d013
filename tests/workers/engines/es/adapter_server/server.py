"""A server of adapters over real HTTP, with the routes of vLLM or SGLang and the model of a test.

It reads PEFT folders, applies W + (alpha / r) · B A, and answers with the project's decoder. Tests make it misbehave:
`faults` are pairs (route, fault), of which the first one that fits a request's route is taken out and happens.
"""

from __future__ import annotations

import copy
import json
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import load_file
from torch import Tensor

from tests.waiting import PATIENCE_SECONDS
from workers.models import Loaded
from workers.models.decoder import Decoder

Kind = Literal["vllm", "sglang"]
TOP_TOKENS = 5


class ServedModel:
    """A copy of a model, and the adapters that are loaded: name -> its weights merged into those of the model."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = replace(loaded, model=copy.deepcopy(loaded.model))
        self.adapters: dict[str, dict[str, Tensor]] = {}
        self.lock = threading.Lock()
        self._base = {name: p.detach().clone() for name, p in self.loaded.model.named_parameters()}

    def load(self, name: str, folder: Path) -> None:
        """Merge a PEFT folder, as its config says. Raise FileNotFoundError."""
        config = json.loads((folder / "adapter_config.json").read_bytes())
        tensors = load_file(folder / "adapter_model.safetensors")
        merged = {}
        for key, a in tensors.items():
            match = re.fullmatch(r"base_model\.model\.(.*\.layers\.(\d+)\..*\.(\w+))\.lora_A\.weight", key)
            if match is None or match[3] not in config["target_modules"]:
                continue
            if int(match[2]) in config.get("layers_to_transform", [int(match[2])]):
                b = tensors[key.replace("lora_A", "lora_B")]
                change = config["lora_alpha"] / config["r"] * (b.float() @ a.float())
                base = self._base[f"{match[1]}.weight"]
                merged[f"{match[1]}.weight"] = (base.float() + change).to(base.dtype)
        self.adapters[name] = merged

    @contextmanager
    def decoder(self, name: str | None) -> Iterator[Decoder]:
        """Yield the decoder of an adapter, or of the base model. One request answers at a time."""
        with self.lock, torch.no_grad():
            for parameter, value in self._weights(name).items():
                self.loaded.model.get_parameter(parameter).copy_(value)
            yield Decoder(self.loaded.model, self.loaded.tokenizer)

    def _weights(self, name: str | None) -> dict[str, Tensor]:
        return self._base if name is None else self._base | self.adapters[name]


class AdapterProgram(ThreadingHTTPServer):
    """The server. `url` stays the same when it is started again, without its adapters."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, loaded: Loaded, kind: Kind, *, token: str = "", port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), HANDLERS[kind])
        self.kind, self.token = kind, token
        self.served = ServedModel(loaded)
        self.faults: list[tuple[str, str]] = []
        self.requests: list[tuple[str, Any]] = []
        """Route and body of each request."""
        self.ignores_adapters = False
        self.most_adapters = 0
        """The most adapters that were loaded at a time."""
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def routes(self) -> list[str]:
        return [route for route, _ in self.requests]

    def fault_of(self, route: str) -> str:
        """Take out the fault of this request; empty if there is none."""
        for index, (of_route, fault) in enumerate(self.faults):
            if of_route == route:
                del self.faults[index]
                return fault
        return ""

    def die(self) -> None:
        """Stop serving, as if the process were killed."""
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler, ABC):
    server: AdapterProgram

    def do_GET(self) -> None:
        self._handle(None)

    def do_POST(self) -> None:
        self._handle(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _handle(self, body: Any) -> None:
        server = self.server
        server.requests.append((self.path, body))
        fault = server.fault_of(self.path)
        if server.token and self.headers["Authorization"] != f"Bearer {server.token}":
            self.reply(401, {"error": "Unauthorized"})
        elif fault == "dies":
            self.close_connection = True
            server.die()
        elif fault == "hangs":
            server.ended.wait(PATIENCE_SECONDS)
        elif fault.isdecimal():
            self.reply(int(fault), {"error": fault})
        elif fault == "is no JSON":
            self.reply(200, "<html>")
        else:
            self.answer(body, fault)

    @abstractmethod
    def answer(self, body: Any, fault: str) -> None:
        """Reply as this kind of server does."""

    def load(self, body: Any) -> None:
        self.server.served.load(body["lora_name"], Path(body["lora_path"]))
        self.server.most_adapters = max(self.server.most_adapters, len(self.server.served.adapters))

    def respond(self, name: str | None, prompts: Sequence[Sequence[int]], settings: Any, fault: str) -> list[list[int]]:
        """Return the tokens of responses. The settings must be those of plain decoding."""
        assert (settings["top_p"], settings["min_p"], settings["repetition_penalty"]) == (1.0, 0.0, 1.0)
        most = settings.get("max_tokens", settings.get("max_new_tokens"))
        with self.server.served.decoder(name) as decoder:
            assert set(settings["stop_token_ids"]) <= set(decoder.ends.tolist())
            if settings["temperature"]:
                completions = decoder.sample(prompts, most, settings["temperature"], settings.get("seed", 0))
            else:
                completions = decoder.greedy(prompts, most)
        tokens = [completion.tokens for completion in completions]
        if fault == "sends few":
            return tokens[:-1]
        return [["a"] for _ in tokens] if fault == "sends texts" else tokens  # type: ignore[list-item]

    def likeliest(self, name: str | None, prompts: Sequence[Sequence[int]]) -> list[tuple[Tensor, Tensor]]:
        """Return for each prompt the log-probabilities of its likeliest next tokens, and the tokens."""
        with self.server.served.decoder(name) as decoder:
            return [tuple(row.log_softmax(0).topk(TOP_TOKENS)) for row in decoder.last_logits(prompts).float()]

    def adapter(self, name: str) -> str | None:
        return None if self.server.ignores_adapters else name

    def models(self) -> dict[str, Any]:
        adapters = [{"id": name, "parent": "base"} for name in self.server.served.adapters]
        return {"object": "list", "data": [{"id": "base", "parent": None}, *adapters]}

    def reply(self, code: int, body: Any) -> None:
        raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: Any) -> None:
        """Log nothing on the tests' stderr."""


class VllmHandler(Handler):
    def answer(self, body: Any, fault: str) -> None:
        adapters = self.server.served.adapters
        if self.path == "/v1/models":
            self.reply(200, self.models())
        elif self.path == "/v1/load_lora_adapter" and body["lora_name"] in adapters:
            self.reply(400, {"error": {"message": "has already been loaded"}})
        elif self.path == "/v1/load_lora_adapter":
            self.load(body)
            self.reply(200, f"Success: LoRA adapter '{body['lora_name']}' added successfully.")
        elif self.path == "/v1/unload_lora_adapter" and adapters.pop(body["lora_name"], None) is not None:
            self.reply(200, f"Success: LoRA adapter '{body['lora_name']}' removed successfully.")
        elif self.path == "/v1/completions" and body["model"] in adapters:
            self.reply(200, {"choices": self.choices(body, fault)[::-1]})
        else:
            self.reply(404, {"error": {"message": "cannot be found"}})

    def choices(self, body: Any, fault: str) -> list[dict[str, Any]]:
        name = self.adapter(body["model"])
        assert body["ignore_eos"] is True and body["top_k"] == 0
        if "logprobs" in body:
            tops = [
                {f"token_id:{token}": value for value, token in zip(values.tolist(), tokens.tolist(), strict=True)}
                for values, tokens in self.likeliest(name, body["prompt"])
            ]
            return [{"index": n, "text": "", "logprobs": {"top_logprobs": [top]}} for n, top in enumerate(tops)]
        responses = self.respond(name, body["prompt"], body, fault)
        ends = set(body["stop_token_ids"])
        return [
            {"index": n, "text": "", "token_ids": ids, "finish_reason": "stop" if ids[-1] in ends else "length"}
            for n, ids in enumerate(responses)
        ]


class SglangHandler(Handler):
    def answer(self, body: Any, fault: str) -> None:
        adapters = self.server.served.adapters
        if self.path == "/v1/models":
            self.reply(200, self.models())
        elif self.path == "/load_lora_adapter":
            is_new = body["lora_name"] not in adapters
            if is_new:
                self.load(body)
            self.reply(200 if is_new else 400, {"success": is_new, "loaded_adapters": {}})
        elif self.path == "/unload_lora_adapter":
            is_known = adapters.pop(body["lora_name"], None) is not None
            self.reply(200 if is_known else 400, {"success": is_known})
        elif self.path == "/generate" and body.get("lora_path") in adapters:
            self.reply(200, self.results(body, fault))
        else:
            self.reply(400, {"error": {"message": f"{self.path}: the adapter is not loaded"}})

    def results(self, body: Any, fault: str) -> list[dict[str, Any]]:
        name, settings = self.adapter(body["lora_path"]), body["sampling_params"]
        assert "ignore_eos" not in settings and settings["top_k"] == -1
        if body.get("return_logprob"):
            tops = [
                [[value, token, None] for value, token in zip(values.tolist(), tokens.tolist(), strict=True)]
                for values, tokens in self.likeliest(name, body["input_ids"])
            ]
            return [{"output_ids": [0], "meta_info": {"output_top_logprobs": [top]}} for top in tops]
        ends = set(settings["stop_token_ids"])
        responses = self.respond(name, body["input_ids"], settings, fault)
        return [{"output_ids": ids, "meta_info": {"finish_reason": _reason(ids[-1], ends)}} for ids in responses]


def _reason(last: int, ends: set[int]) -> dict[str, Any]:
    return {"type": "stop", "matched": last} if last in ends else {"type": "length"}


HANDLERS: dict[Kind, type[Handler]] = {"vllm": VllmHandler, "sglang": SglangHandler}


def start(loaded: Loaded, kind: Kind, *, token: str = "", port: int = 0) -> AdapterProgram:
    """Return a server that answers in threads of its own, until it dies."""
    server = AdapterProgram(loaded, kind, token=token, port=port)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    return server


@contextmanager
def serving(loaded: Loaded, kind: Kind, *, token: str = "") -> Iterator[AdapterProgram]:
    """Serve while the block runs; yield the server."""
    server = start(loaded, kind, token=token)
    try:
        yield server
    finally:
        server.ended.set()
        server.die()
