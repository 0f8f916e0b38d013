"""Whole trainings with a server equal those of the native back end, and resume after the server or the run ended."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.engines.es.adapter_server.server import AdapterProgram, Kind, serving, start
from tests.workers.engines.es.adapter_server.test_responses import KINDS
from tests.workers.engines.es.checkpoints import checkpoint, files
from tests.workers.engines.es.population import digest
from tests.workers.engines.es.runs import records_of, run
from tests.workers.training_process import run_json, train_here, weights
from tests.workers.training_process import start as start_training
from workers.engines.context import Context, latest_checkpoint
from workers.engines.es.adapter_server import AdapterServerFailed, adapter_queue
from workers.engines.es.rebuild import rebuild
from workers.models import Loaded
from workers.models.save import weights_sha256
from workers.records import Alert, Metric, Status
from workers.train import STOPPED

AFTER_COMPARISON = 2
"""Requests that compare the server with the model before training."""
LORA: dict[str, Any] = {"rank": 2, "start": "random", "start_scale": 2.0, "noise_scale": "weights", "layers": "0-1"}
OPTIONS: dict[str, Any] = {"iterations": 3, "sigma": 2.0, "alpha": 1.0, "checkpoint_every": 1, "lora": LORA}


def on_server(url: str, kind: Kind = "vllm", **options: Any) -> dict[str, Any]:
    """Return the ES options of a run with the server."""
    return {"backend": "adapter_server", "adapter_server": {"server": url, "kind": kind, "at_once": 2, **options}}


@pytest.mark.usefixtures("restored_signals")
@pytest.mark.parametrize("kind", KINDS)
def test_run_ends_with_the_weights_of_the_native_run(micro: Loaded, tmp_path: Path, kind: Kind) -> None:
    small = {"iterations": 3, "population": 6, "noise": "full", "lora": LORA, "sigma": 2.0, "alpha": 1.0}
    native = run_json(tmp_path, "es-micro", es=small, evaluation={"prompts": 4, "samples": 0})
    code, output = train_here(native, tmp_path / "native")
    assert code == 0, output
    with serving(micro, kind) as server:
        config = run_json(
            tmp_path, "es-micro", es=small | on_server(server.url, kind), evaluation={"prompts": 4, "samples": 0}
        )
        code, output = train_here(config, tmp_path / "served")
    assert code == 0, output
    assert "mean difference of the adapter server's log-probabilities" in output
    assert weights(tmp_path / "served") == weights(tmp_path / "native")
    assert weights(tmp_path / "served").keys() == {3}
    norms = [record.values.get("es/update_norm", 0.0) for record in records_of(tmp_path / "served", Metric)]
    assert max(norms) > 0, "an update must move the weights for this to say anything"


def test_run_waits_for_its_server_and_records_it(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter_queue, "FIRST_PAUSE_SECONDS", 0.01)
    expected = digest(run(micro, tmp_path / "native", **OPTIONS))
    with serving(micro, "vllm") as server:
        wait = Context.wait
        again: list[AdapterProgram] = []

        def start_again(self: Context, seconds: float, reason: str) -> None:
            if not again:
                again.append(start(micro, "vllm", port=server.server_address[1]))
            wait(self, seconds, reason)

        monkeypatch.setattr(Context, "wait", start_again)
        server.faults = [*[("/v1/completions", "")] * AFTER_COMPARISON, ("/v1/completions", "dies")]
        end = digest(run(micro, tmp_path / "served", **OPTIONS, **on_server(server.url)))
        again[0].die()
    assert end == expected
    waits = [status for status in records_of(tmp_path / "served", Status) if status.phase == "waiting"]
    assert waits and "the adapter server gave no reply" in waits[0].message
    assert any(
        alert.message.startswith("waiting: the adapter server") for alert in records_of(tmp_path / "served", Alert)
    )


def test_run_whose_server_is_gone_fails_and_resumes_exactly(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter_queue, "FIRST_PAUSE_SECONDS", 0.01)
    run(micro, tmp_path / "straight", **OPTIONS)
    folder = tmp_path / "cut"
    with serving(micro, "sglang") as server:
        update = Context.log

        def die_after_the_first_step(self: Context, step: int, *more: Any) -> None:
            update(self, step, *more)
            if step == 1:
                server.die()

        with monkeypatch.context() as patch, pytest.raises(AdapterServerFailed):
            patch.setattr(Context, "log", die_after_the_first_step)
            run(micro, folder, **OPTIONS, **on_server(server.url, "sglang", wait_seconds=0.1))
    assert latest_checkpoint(folder) == checkpoint(folder, 1)
    with serving(micro, "sglang") as server:
        run(micro, folder, **OPTIONS, **on_server(server.url, "sglang"))
    assert files(checkpoint(folder, 3)) == files(checkpoint(tmp_path / "straight", 3))
    rebuild(folder, 2, tmp_path / "rebuilt", from_base=True)
    assert files(tmp_path / "rebuilt") == files(checkpoint(tmp_path / "straight", 2))
    assert weights_sha256(tmp_path / "rebuilt") != weights_sha256(micro.path)


def test_stop_ends_a_run_whose_server_hangs(micro: Loaded, tmp_path: Path) -> None:
    with serving(micro, "vllm") as server:
        small = {"iterations": 3, "population": 6, "lora": {"rank": 2}, **on_server(server.url)}
        config = run_json(tmp_path, "es-micro", es=small, evaluation={"every": 0, "prompts": 1, "samples": 0})
        server.faults = [*[("/v1/completions", "")] * AFTER_COMPARISON, *[("/v1/completions", "hangs")] * 6]
        with start_training(config, tmp_path / "out", is_fork=True) as training:
            try:
                wait_until(lambda: len(server.faults) < 6, "the server to hang", details=lambda: training.poll())
                training.send_signal(signal.SIGTERM)
                output, errors = training.communicate(timeout=PATIENCE_SECONDS)
            finally:
                training.kill()
    assert training.returncode == STOPPED, (output, errors)
    assert latest_checkpoint(tmp_path / "out") == checkpoint(tmp_path / "out", 0)
    assert list((tmp_path / "out" / "adapters").iterdir()) == []
