"""A scorer as a run: its records hold its address and its counts; after SIGTERM it can be started again."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.raw_server import http_reply, raw_server
from tests.waiting import PATIENCE_SECONDS
from tests.workers.training_process import metrics, records, start, train
from workers.config import ConfigError, RunConfig
from workers.records import RecordWriter, Status
from workers.scorer.client import ScorerClient
from workers.scorer.run import ScorerRun

WITHOUT_FASTAPI = """
import sys
for name in [name for name in sys.modules if name.startswith("workers.")]:
    del sys.modules[name]
sys.modules["fastapi"] = None
from workers import train
sys.exit(train.main(sys.argv[1:]))
"""


def write_config(folder: Path, **scorer: Any) -> Path:
    path = folder / "run.json"
    path.write_text(json.dumps({"method": "scorer", "scorer": scorer}))
    return path


def test_scorer_run_records_address_and_counts(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with start(write_config(tmp_path), out, is_fork=True) as process:
        try:
            assert process.stdout is not None
            words = process.stdout.readline().strip()
            assert words.startswith("scoring at http://127.0.0.1:"), process.communicate()
            ScorerClient(words.split()[2].rstrip(","), tries=1).score(["a", "b"], ["c", "d"])
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 75, errors
    statuses = records(out, Status)
    assert [status.message for status in statuses if status.phase == "serving"] == [words]
    assert statuses[-1].message == "stopped on request after it had answered the started requests; it can be restarted"
    assert metrics(out, "scorer/texts")[-1].values == {
        "scorer/texts": 2.0, "scorer/waiting": 0.0, "scorer/truncated": 0.0, "scorer/failed": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("scorer", "words"),
    [
        ({"host": "0.0.0.0"}, "scorer: others can reach it at 0.0.0.0: give a token_file"),  # noqa: S104
        ({"token_file": "/no/such/file"}, "scorer: the token file /no/such/file cannot be read"),
        ({"cost_model": "micro"}, "scorer: the cost model micro returns no scores: it is Qwen2ForCausalLM; give tiny"),
    ],
)
def test_invalid_scorer_options_are_config_errors(scorer: dict[str, Any], words: str, tmp_path: Path) -> None:
    config = RunConfig.from_json({"method": "scorer", "scorer": scorer})
    with RecordWriter(tmp_path, 0) as writer, pytest.raises(ConfigError, match=words):
        ScorerRun(config, writer)


def test_scorer_that_its_site_refuses_ends_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a-token")
    problem = http_reply("422 Unprocessable Entity", "the address is not allowed by ESWEB_SCORER_HOSTS")
    with raw_server(problem) as site, RecordWriter(tmp_path, 0) as writer:
        options = {"site": site.url, "site_token_file": str(tmp_path / "token")}
        run = ScorerRun(RunConfig.from_json({"method": "scorer", "scorer": options}), writer)
        with pytest.raises(ConfigError, match="scorer: 422 the address is not allowed by ESWEB_SCORER_HOSTS"):
            run.serve(lambda: True)


def test_missing_package_is_reported_with_install_command(tmp_path: Path) -> None:
    process = train(write_config(tmp_path), tmp_path / "out", program=("-c", WITHOUT_FASTAPI), is_fork=True)
    assert process.returncode == 2
    assert (
        "method: is scorer, which needs fastapi: install it here with" in records(tmp_path / "out", Status)[-1].message
    )


def test_training_config_refuses_scorer_section() -> None:
    with pytest.raises(ConfigError, match="scorer: cannot be set in a run with method es"):
        RunConfig.from_json({"method": "es", "es": {}, "scorer": {}})
