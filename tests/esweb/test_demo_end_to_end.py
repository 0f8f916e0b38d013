"""The demonstration end to end on the micro model: real servers, a real worker, real training."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.esweb.test_up import ROOT, without_servers
from tests.started_site import make_started_site
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.slow
DEMO_SECONDS = 3 * PATIENCE_SECONDS
"""The limit for a whole demonstration, which takes minutes where nothing else runs."""


def test_demo_prints_a_table_and_a_board_and_exits_with_0(tmp_path: Path) -> None:
    data, console = make_started_site(tmp_path / "data"), tmp_path / "console"
    argv = [sys.executable, ROOT / "manage.py", "demo", "--preset", "micro", "--data", data, "--port", "0"]
    with console.open("wb") as out:
        demo = subprocess.Popen(
            [*argv, "--exit-when-done"], stdout=out, stderr=subprocess.STDOUT, env=without_servers()
        )
    code, output = demo.wait(DEMO_SECONDS), console.read_text()
    assert code == 0, output
    rows = re.findall(r"(ES|GRPO) +(\S+) +(\d) +succeeded +(-?[\d.]+) → (-?[\d.]+)", output)
    assert {(method, seed) for method, _, seed, _, _ in rows} == {(m, s) for m in ("ES", "GRPO") for s in "12"}
    assert all(float(after) > float(before) for *_, before, after in rows)
    assert "No run is flagged." in output, output
    assert "Every run succeeded. Rewards of conciseness rose; for safety λ moved" in output
    assert re.search(r"Leaderboard: http://127\.0\.0\.1:\d+/judging/\d+/board/", output), output
    assert "Traceback" not in output
