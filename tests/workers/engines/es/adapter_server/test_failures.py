"""A server that fails is waited for; one that refuses, or fails for too long, ends the run with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.workers.engines.es.adapter_server.server import AdapterProgram, serving, start
from tests.workers.engines.es.adapter_server.test_responses import LORAS, SEEDS, backends
from tests.workers.engines.es.population import prompts_of
from workers.engines.es.adapter_server import AdapterServerBackEnd, AdapterServerFailed, adapter_queue
from workers.engines.es.backend import DecoderBackEnd
from workers.models import Loaded

GENERATE, LOAD, UNLOAD = "/v1/completions", "/v1/load_lora_adapter", "/v1/unload_lora_adapter"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter_queue, "FIRST_PAUSE_SECONDS", 0.01)


@pytest.fixture
def server(micro: Loaded) -> Iterator[AdapterProgram]:
    with serving(micro, "vllm") as program:
        yield program


class Waits:
    """The waits of a run: each calls `repair` once, and all reasons are stored."""

    def __init__(self, repair: Callable[[], Any] = lambda: None) -> None:
        self.reasons: list[str] = []
        self._repair = repair

    def __call__(self, seconds: float, reason: str) -> None:
        if not self.reasons:
            self._repair()
        self.reasons.append(reason)


def connected(
    micro: Loaded, server: AdapterProgram, folder: Path, waits: Waits, **options: Any
) -> tuple[AdapterServerBackEnd, DecoderBackEnd]:
    """Return back ends as `backends` does, of which the one of the server waits by `waits` from now on."""
    served_backend, native = backends(micro, server, folder, LORAS["default"], **options)
    assert served_backend._connected_queue is not None
    served_backend._connected_queue._wait = waits
    server.requests.clear()
    return served_backend, native


@pytest.mark.parametrize(
    ("route", "fault"), [(GENERATE, "500"), (GENERATE, "429"), (LOAD, "503"), (UNLOAD, "500"), (UNLOAD, "503")]
)
def test_errors_of_the_server_are_repeated(
    micro: Loaded, tmp_path: Path, server: AdapterProgram, route: str, fault: str
) -> None:
    waits = Waits()
    backend, native = connected(micro, server, tmp_path, waits)
    server.faults = [(route, fault)] * 2
    prompts = prompts_of(micro, 3)
    assert backend.answer(SEEDS, prompts) == native.answer(SEEDS, prompts)
    assert server.faults == []
    assert (route == UNLOAD) == (waits.reasons == []), "an adapter that is not unloaded is no reason to wait"
    assert all("the adapter server replied to" in reason and fault in reason for reason in waits.reasons)
    backend.answer(SEEDS[:1], prompts)
    assert server.served.adapters == {}, "what could not be unloaded is unloaded later"


def test_server_that_dies_and_is_started_again_is_waited_for(
    micro: Loaded, tmp_path: Path, server: AdapterProgram
) -> None:
    again: list[AdapterProgram] = []
    waits = Waits(lambda: again.append(start(micro, "vllm", port=server.server_address[1])))
    backend, native = connected(micro, server, tmp_path, waits)
    server.faults = [(GENERATE, "dies")]
    prompts = prompts_of(micro, 3)
    try:
        assert backend.answer(SEEDS, prompts) == native.answer(SEEDS, prompts)
        assert "gave no reply" in waits.reasons[0]
        assert again[0].routes().count(GENERATE) >= 3
    finally:
        for program in again:
            program.die()


def test_server_that_hangs_is_given_up_after_the_time_limit(
    micro: Loaded, tmp_path: Path, server: AdapterProgram
) -> None:
    waits = Waits()
    backend, native = connected(micro, server, tmp_path, waits, timeout_seconds=1.0)
    server.faults = [(GENERATE, "hangs")]
    prompts = prompts_of(micro, 3)
    assert backend.answer(SEEDS[:2], prompts) == native.answer(SEEDS[:2], prompts)
    assert any("timed out" in reason for reason in waits.reasons)


def test_run_fails_once_the_time_to_wait_is_over(micro: Loaded, tmp_path: Path, server: AdapterProgram) -> None:
    backend, _ = connected(micro, server, tmp_path, Waits(), wait_seconds=0.05)
    server.die()
    with pytest.raises(
        AdapterServerFailed, match=rf"the adapter server {server.url} failed: it gave no reply at {server.url}"
    ):
        while True:
            backend.answer(SEEDS[:2], prompts_of(micro, 2))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("sends few", "sent 1 responses to 2 prompts"),
        ("sends texts", "sent a response without token ids"),
        ("is no JSON", "did not reply with JSON"),
        ("400", "replied to /v1/completions with 400"),
    ],
)
def test_wrong_responses_fail_the_run_unless_the_next_try_is_right(
    micro: Loaded, tmp_path: Path, server: AdapterProgram, fault: str, reason: str
) -> None:
    backend, native = connected(micro, server, tmp_path, Waits())
    prompts = prompts_of(micro, 2)
    server.faults = [(GENERATE, fault)]
    assert backend.answer(SEEDS[:2], prompts) == native.answer(SEEDS[:2], prompts)
    server.faults = [(GENERATE, fault)] * 2
    with pytest.raises(AdapterServerFailed, match=reason):
        backend.answer(SEEDS[:1], prompts)
    adapters = tmp_path / "esweb-abcdefghjk-a1" / "adapters"
    assert list(adapters.iterdir()) == []


def test_adapter_that_vllm_refuses_by_an_internal_error_fails_the_run(
    micro: Loaded, tmp_path: Path, server: AdapterProgram
) -> None:
    waits = Waits()
    backend, native = connected(micro, server, tmp_path, waits)
    server.faults = [(LOAD, "500")]
    prompts = prompts_of(micro, 2)
    assert backend.answer(SEEDS[:2], prompts) == native.answer(SEEDS[:2], prompts)
    server.faults = [(LOAD, "500")] * 2
    with pytest.raises(AdapterServerFailed, match="replied to /v1/load_lora_adapter with 500"):
        backend.answer(SEEDS[:1], prompts)
    assert waits.reasons == []


def test_wrong_token_fails_the_run_and_is_in_no_message(micro: Loaded, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("wrong-token")
    with serving(micro, "vllm", token="right-token") as server, pytest.raises(AdapterServerFailed) as failed:
        backends(micro, server, tmp_path, LORAS["default"], token_file=str(token))
    assert "401" in str(failed.value)
    assert "wrong-token" not in str(failed.value)


def test_missing_token_file_fails_the_run(micro: Loaded, tmp_path: Path, server: AdapterProgram) -> None:
    with pytest.raises(AdapterServerFailed, match="has a token that cannot be read"):
        backends(micro, server, tmp_path, LORAS["default"], token_file=str(tmp_path / "none"))


def test_adapters_of_a_killed_attempt_are_removed_and_those_of_other_runs_stay(
    micro: Loaded, tmp_path: Path, server: AdapterProgram
) -> None:
    of_run, of_others = "esweb-abcdefghjk-0badf00d-3-17", ["esweb-abcdefghj-0badf00d-3-17", "somebody"]
    server.served.adapters |= {name: {} for name in (of_run, *of_others)}
    leftover = tmp_path / "esweb-abcdefghjk-a1" / "adapters" / "esweb-abcdefghjk-0badf00d-4-18"
    leftover.mkdir(parents=True)
    backends(micro, server, tmp_path, LORAS["default"])
    assert sorted(server.served.adapters) == sorted(of_others)
    assert not leftover.exists()
