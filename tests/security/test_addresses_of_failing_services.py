"""Messages about services that refuse or fail: they hold the HTTP status, and nothing that the service sent."""

from __future__ import annotations

from collections.abc import Callable

from judging.model_judge import Pair, Rubric, Sampling, Server, parse_hosts, request
from judging.model_judge.client import Client
from tests.cases import each_case
from tests.fakes.raw_server import SECRET, http_reply, raw_server
from workers.config import AdapterServerConfig
from workers.engines.es.adapter_server.connection import Connection
from workers.engines.es.adapter_server.lookup import find_address
from workers.engines.es.adapter_server.protocol import Sampling as TokenSampling
from workers.engines.es.adapter_server.sglang import SglangServer
from workers.engines.es.adapter_server.vllm import VllmServer
from workers.scorer.client import ScorerClient

QUESTION = request("gpt", Rubric("x", "y"), Pair("p", "one", "other"), Sampling())
JSON = f'"{SECRET}"'
# A service of another protocol sends its banner, a web server its page, an API its JSON.
REPLIES: dict[str, tuple[bytes, str]] = {
    "banner": (f"{SECRET}\r\n".encode(), ""),
    "version": (f"HTTP/{SECRET} 200 OK\r\n\r\n".encode(), ""),
    "phrase": (http_reply(f"500 {SECRET}", ""), "500"),
    "header": (f"HTTP/1.1 200 OK\r\nContent-Length: {SECRET}\r\n{SECRET}\r\n\r\n".encode(), ""),
    "encoding": (http_reply("200 OK", "{}", Transfer_Encoding=SECRET, Content_Encoding=SECRET), ""),
    "chunk": (f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{SECRET}\r\n".encode(), ""),
    "redirect": (http_reply("302 Found", SECRET, Location=f"http://127.0.0.1:9/{SECRET}"), "302"),
    "unauthorized": (http_reply("401 Unauthorized", f'{{"error": {{"message": {JSON}, "code": {JSON}}}}}'), "401"),
    "missing": (http_reply("404 Not Found", SECRET), "404"),
    "rejected": (http_reply("422 Unprocessable Entity", f'{{"detail": {JSON}}}'), "422"),
    "failed": (http_reply("500 Internal Server Error", SECRET), "500"),
    "unknown": (http_reply(f"799 {SECRET}", SECRET), "799"),
    "page": (http_reply("200 OK", f"<html>{SECRET}"), ""),
    "text": (http_reply("200 OK", JSON), ""),
    "list": (http_reply("200 OK", f"[{JSON}, {JSON}]"), ""),
    "object": (http_reply("200 OK", f'{{"secret": {JSON}}}'), ""),
    "scores": (http_reply("200 OK", f'{{"rewards": [{JSON}], "costs": [1]}}'), ""),
    "no list": (http_reply("200 OK", f'{{"rewards": {JSON}, "costs": [1]}}'), ""),
    "models": (http_reply("200 OK", f'{{"data": [{{"name": {JSON}}}]}}'), ""),
    "choices": (http_reply("200 OK", f'{{"choices": [{{"index": {JSON}, "token_ids": {JSON}}}]}}'), ""),
    "tokens": (http_reply("200 OK", f'{{"choices": [{{"index": 0, "token_ids": [{JSON}]}}]}}'), ""),
    "end": (http_reply("200 OK", f'{{"choices": [{{"index": 0, "finish_reason": {JSON}}}]}}'), ""),
    "probabilities": (
        http_reply("200 OK", f'{{"choices": [{{"index": 0, "logprobs": {{"top_logprobs": [{{{JSON}: 1}}]}}}}]}}'), ""
    ),
    "sglang": (
        http_reply("200 OK", f'{{"meta_info": {{"output_top_logprobs": [[[{JSON}, {JSON}]]], '
                             f'"finish_reason": {{"type": {JSON}}}}}}}'), ""
    ),
}  # fmt: skip


def adapter_connection(url: str) -> Connection:
    return Connection(lambda: find_address(AdapterServerConfig(server=url)), 5.0)


def ask_judge(url: str) -> object:
    with Client(Server(url, "key-of-the-judge", parse_hosts(["127.0.0.1"]), seconds=5.0)) as client:
        return client.ask(QUESTION)


GREEDY = TokenSampling(4, ())
CALLS: dict[str, Callable[[str], object]] = {
    "scorer": lambda url: ScorerClient(url, tries=1, timeout_seconds=5.0).score(["a"], ["b"]),
    "models of vLLM": lambda url: VllmServer(adapter_connection(url), "qwen").adapters(),
    "responses of vLLM": lambda url: VllmServer(adapter_connection(url), "").generate("a", [[1]], GREEDY),
    "likeliest of vLLM": lambda url: VllmServer(adapter_connection(url), "").likeliest("a", [[1]]),
    "responses of SGLang": lambda url: SglangServer(adapter_connection(url)).generate("a", [[1]], GREEDY),
    "likeliest of SGLang": lambda url: SglangServer(adapter_connection(url)).likeliest("a", [[1]]),
    "unload of SGLang": lambda url: SglangServer(adapter_connection(url)).unload("a"),
    "judge": ask_judge,
}


def texts_of(error: BaseException | None) -> str:
    """Return the messages of an error and of those that a traceback would show with it."""
    texts = []
    while error is not None:
        texts.append(f"{type(error).__name__}: {error}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(texts)


# All calls of an adapter server meet a status, or another protocol, in the same place.
CASES = [
    (service, form)
    for form, (reply, _) in REPLIES.items()
    for service in CALLS
    if b" 200 OK" in reply or service in ("scorer", "models of vLLM", "judge")
]


@each_case("service, form", CASES)
def test_message_about_failing_service_holds_its_status_only(service: str, form: str) -> None:
    reply, status = REPLIES[form]
    with raw_server(reply) as server:
        try:
            CALLS[service](server.url)
        except Exception as error:
            text = texts_of(error)
        else:
            text = ""
    assert server.connections == 1
    assert SECRET not in text and SECRET[:6] not in text, text
    assert status in text
