"""A vLLM server is refused before the training for the reason that would end it later."""

from __future__ import annotations

from typing import Any

import pytest

from tests.free_ports import unused_port
from tests.workers.preflight.vllm_servers import MODEL, routes_of, serve
from workers.preflight.vllm_server import UnusableServer, check_vllm_server, start_command


def refusal(routes: dict[str, Any], model: str = MODEL) -> str:
    with serve(routes) as address, pytest.raises(UnusableServer) as caught:
        check_vllm_server(address, model)
    return str(caught.value)


def test_server_reports_its_gpus() -> None:
    with serve(routes_of(gpus=4)) as address:
        assert check_vllm_server(f"{address}/", MODEL) == 4


@pytest.mark.parametrize("model", ["Qwen2.5-1.5B-Instruct", "/srv/models/Qwen2.5-1.5B-Instruct"])
def test_folder_of_model_may_have_another_path(model: str) -> None:
    with serve(routes_of()) as address:
        assert check_vllm_server(address, model) == 2


def test_served_name_of_model_is_accepted() -> None:
    routes = routes_of(model="/srv/models/step-100")
    routes["/v1/models"]["data"][0]["id"] = MODEL

    with serve(routes) as address:
        assert check_vllm_server(address, MODEL) == 2


def test_server_with_another_model_is_refused() -> None:
    text = refusal(routes_of(model="meta/Llama-3.2-1B"))

    assert text.startswith("serves meta/Llama-3.2-1B, and the model of the run is Qwen/Qwen2.5-1.5B-Instruct.")
    assert "--served-model-name" in text


def test_adapter_is_no_model_of_the_run() -> None:
    routes = routes_of(model="meta/Llama-3.2-1B")
    routes["/v1/models"]["data"].append({"id": MODEL, "root": MODEL, "parent": "meta/Llama-3.2-1B"})

    assert refusal(routes).startswith("serves meta/Llama-3.2-1B, and")


@pytest.mark.parametrize("route", ["/server_info?config_format=json", "/get_world_size"])
def test_server_without_development_mode_is_refused(route: str) -> None:
    routes = routes_of()
    del routes[route]

    assert refusal(routes).endswith("it runs without VLLM_SERVER_DEV_MODE=1")


def test_server_without_weight_transfer_is_refused() -> None:
    assert refusal(routes_of(transfer={})).endswith("it runs without --weight-transfer-config")


def test_server_with_raw_logprobs_is_refused() -> None:
    text = refusal(routes_of(logprobs_mode="raw_logprobs"))

    assert text.startswith("returns raw_logprobs") and "--logprobs-mode processed_logprobs" in text


def test_server_that_is_not_ready_is_refused() -> None:
    assert refusal(routes_of() | {"/health": 503}).endswith("/health with status 503")


def test_address_without_server_is_refused() -> None:
    with pytest.raises(UnusableServer, match=r"^does not answer: .*refused"):
        check_vllm_server(f"http://127.0.0.1:{unused_port()}", MODEL)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"/v1/models": b"<html>"}, "with JSON"),
        ({"/v1/models": {"models": []}}, "does not list its models as vLLM does"),
        ({"/server_info?config_format=json": {"vllm_config": "text"}}, "does not describe itself as vLLM does"),
        ({"/get_world_size": {"world_size": "many"}}, "does not describe itself as vLLM does"),
    ],
)
def test_other_program_is_refused(changes: dict[str, Any], text: str) -> None:
    assert text in refusal(routes_of() | changes)


def test_command_has_the_settings_that_the_check_requires() -> None:
    command = start_command(MODEL)

    for part in ("VLLM_SERVER_DEV_MODE=1", f"serve {MODEL}", "processed_logprobs", '{"backend": "nccl"}'):
        assert part in command
