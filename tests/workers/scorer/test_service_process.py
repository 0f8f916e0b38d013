"""The service as a process: the published client's requests, its addresses, and its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest
import requests

from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import ENV
from tests.workers.forked import Fork
from tests.workers.scorers import check_embedded_scores
from workers.scorer.__main__ import main
from workers.scorer.client import ScorerClient, ScorerFailed, Scores
from workers.scorer.conversation import conversation

PROMPTS = ["How do I pick a lock?", "How do I bake bread?"]
RESPONSES = ["I am sorry, but I cannot help with that.", "Look it up."]
TEXTS = [conversation(*pair) for pair in zip(PROMPTS, RESPONSES, strict=True)]
HELD_UP = """
import signal, sys, time
from pathlib import Path
from workers.scorer.models import ScoreBatch
from workers.scorer.service.metrics import Metrics
from workers.scorer.service.server import ServerSettings, serve

class HeldUp:
    name, device = "held-up", "cpu"
    def scores(self, texts):
        Path("asked").touch()
        while not Path("go").exists():
            time.sleep(0.01)
        return ScoreBatch([1.0] * len(texts))

received = []
signal.signal(signal.SIGTERM, lambda *_: received.append(1))
settings = ServerSettings(port=0, drain_seconds=int(sys.argv[1]))
serve(settings, HeldUp(), HeldUp(), Metrics(), lambda: bool(received), lambda text: print(text, flush=True))
"""


@contextmanager
def running(argv: list[str], cwd: Path, *, is_fork: bool = True) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the process; yield it and the address that it prints."""
    environment = ENV | {key: os.environ[key] for key in ("ESWEB_CACHE", "HOME") if key in os.environ}
    process = (Fork if is_fork else subprocess.Popen)(
        [sys.executable, *argv], cwd=cwd, env=environment, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    with process:
        try:
            assert process.stdout
            yield process, process.stdout.readline().split()[2].rstrip(",")
        finally:
            process.kill()


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a service with the tiny models, for all tests here."""
    folder = tmp_path_factory.mktemp("scorer")
    with running(["-m", "workers.scorer", "--port", "0"], folder, is_fork=False) as (_, address):
        yield address


def test_service_answers_published_client(scorer: str) -> None:
    health = requests.get(f"{scorer}/health", timeout=PATIENCE_SECONDS)
    health.raise_for_status()
    assert health.json() == {"status": "healthy", "device": "cpu"}
    pairs = {"prompts": PROMPTS, "responses": RESPONSES}
    for route, payload in (("score_texts", {"texts": TEXTS}), ("score_batch", pairs), ("score", pairs)):
        answer = requests.post(f"{scorer}/{route}", json=payload, timeout=PATIENCE_SECONDS)
        answer.raise_for_status()
        rewards, costs = answer.json()["rewards"], answer.json()["costs"]
        check_embedded_scores(list(map(Scores, rewards, costs)), PROMPTS, RESPONSES)
    assert requests.post(f"{scorer}/score_texts", json={"texts": []}, timeout=PATIENCE_SECONDS).json() == {
        "rewards": [],
        "costs": [],
    }
    assert (
        requests.post(f"{scorer}/score", json={"prompts": ["a"], "responses": []}, timeout=PATIENCE_SECONDS).status_code
        == 400
    )


def test_client_gets_scores_of_embedded_scorer(scorer: str) -> None:
    check_embedded_scores(ScorerClient(scorer, batch_size=1).score(PROMPTS, RESPONSES), PROMPTS, RESPONSES)


def test_terminated_service_finishes_open_requests(tmp_path: Path) -> None:
    with running(["-c", HELD_UP, f"{PATIENCE_SECONDS:.0f}"], tmp_path) as (process, address):
        scores: list[Scores] = []
        client = patient(address)
        asking = threading.Thread(target=lambda: scores.extend(client.score(PROMPTS, RESPONSES)))
        asking.start()
        wait_until_held_up(tmp_path, process)
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: not _takes(address), "the service to take no new requests")
        (tmp_path / "go").touch()
        asking.join(PATIENCE_SECONDS)
        assert scores == [Scores(1.0, 1.0)] * 2
        assert process.wait(PATIENCE_SECONDS) == 0


def test_closed_connection_leaves_queue(tmp_path: Path) -> None:
    with running(["-c", HELD_UP, f"{PATIENCE_SECONDS:.0f}"], tmp_path) as (process, address):
        client = patient(address)
        asking = threading.Thread(target=lambda: client.score(PROMPTS, RESPONSES))
        asking.start()
        wait_until_held_up(tmp_path, process)
        with closing(HTTPConnection(address.removeprefix("http://"), timeout=PATIENCE_SECONDS)) as impatient:
            body = json.dumps({"texts": ["x", "y", "z"]})
            impatient.request("POST", "/score_texts", body, {"Content-Type": "application/json"})
            wait_until(lambda: "scorer_waiting_texts 3.0" in _metrics(address), "three texts to stand in the queue")
        wait_until(
            lambda: 'route="/score_texts",status="499"' in _metrics(address), "the closed connection to be noticed"
        )
        (tmp_path / "go").touch()
        asking.join(PATIENCE_SECONDS)
        assert "scorer_texts_total 2.0" in _metrics(address)


def test_killed_service_leaves_client_without_scores(tmp_path: Path) -> None:
    with running(["-c", HELD_UP, f"{PATIENCE_SECONDS:.0f}"], tmp_path) as (process, address):
        failures: list[ScorerFailed] = []
        asking = threading.Thread(target=lambda: failures.append(_failure(address)))
        asking.start()
        wait_until_held_up(tmp_path, process)
        process.kill()
        asking.join(PATIENCE_SECONDS)
    assert "gave no scores" in str(failures[0])


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--host", "198.51.100.1"], ": give a token_file (--token-file)"),
        (["--token-file", "/no/such/file"], "the token file /no/such/file cannot be read"),
        (["--reward-model", "/no/such/model"], "the model '/no/such/model' does not exist"),
        (["--host", "256.1.1.1", "--open"], "cannot listen on 256.1.1.1 port 8000"),
        (["--port", "0", "--site", "esweb.example"], "the site's address must begin with http:// or https://"),
    ],
)
def test_invalid_service_options_are_reported(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert main(argv) == 2
    assert words in capsys.readouterr().err


def patient(address: str) -> ScorerClient:
    """Return a client that tries once and waits as long as tests wait."""
    return ScorerClient(address, tries=1, timeout_seconds=PATIENCE_SECONDS, deadline_seconds=PATIENCE_SECONDS)


def wait_until_held_up(folder: Path, process: subprocess.Popen[str]) -> None:
    """Wait until the model of HELD_UP has got texts."""
    wait_until(lambda: (folder / "asked").exists() or process.poll() is not None, "the model to get texts")


def _metrics(address: str) -> str:
    return requests.get(f"{address}/metrics", timeout=PATIENCE_SECONDS).text


def _takes(address: str) -> bool:
    try:
        return requests.get(f"{address}/health", timeout=PATIENCE_SECONDS).ok
    except requests.ConnectionError:
        return False


def _failure(address: str) -> ScorerFailed:
    with pytest.raises(ScorerFailed) as failed:
        patient(address).score(PROMPTS, RESPONSES)
    return failed.value
