"""A scorer as a run: its records say where it serves and how much it does; told to end, it can be started again."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE_SECONDS
from tests.workers.training_process import metrics, records, start, train
from workers.config import ConfigError, RunConfig
from workers.records import RecordWriter, Status
from workers.scorer.client import ScorerClient
from workers.scorer.running import Running


def written(folder: Path, **scorer: Any) -> Path:
    path = folder / "run.json"
    path.write_text(json.dumps({"method": "scorer", "scorer": scorer}))
    return path


def test_it_says_where_it_serves_and_counts_what_it_scored(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with start(written(tmp_path), out) as process:
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
    said = records(out, Status)
    assert [one.message for one in said if one.phase == "serving"] == [words]
    assert said[-1].message == "told to end; what was begun is answered, and it can be started again"
    assert metrics(out, "scorer/texts")[-1].values == {
        "scorer/texts": 2.0, "scorer/waiting": 0.0, "scorer/truncated": 0.0, "scorer/failed": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("scorer", "words"),
    [
        ({"host": "0.0.0.0"}, "scorer: at 0.0.0.0 others can reach it: give a token_file"),  # noqa: S104
        ({"token_file": "/no/such/file"}, "scorer: the token file /no/such/file cannot be read"),
        ({"cost_model": "micro"}, "scorer: the cost model micro gives no scores: it is Qwen2ForCausalLM; give tiny"),
    ],
)
def test_what_cannot_be_had_is_a_problem_of_its_config(scorer: dict[str, Any], words: str, tmp_path: Path) -> None:
    config = RunConfig.from_json({"method": "scorer", "scorer": scorer})
    with RecordWriter(tmp_path, 0) as told, pytest.raises(ConfigError, match=words):
        Running(config, told)


def test_what_is_not_installed_is_said_with_how_to_install_it(tmp_path: Path) -> None:
    without = "import sys; sys.modules['fastapi'] = None; from workers import train; sys.exit(train.main(sys.argv[1:]))"
    process = train(written(tmp_path), tmp_path / "out", program=("-c", without))
    assert process.returncode == 2
    assert (
        "method: is scorer, which needs fastapi: install it here with" in records(tmp_path / "out", Status)[-1].message
    )


def test_a_training_has_no_scorers_section() -> None:
    with pytest.raises(ConfigError, match="scorer: does not belong in a run with method es"):
        RunConfig.from_json({"method": "es", "es": {}, "scorer": {}})
