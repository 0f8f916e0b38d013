"""The demonstration end to end on the micro model: real servers, a real worker, real training."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.esweb.test_up_runs_everything import ROOT, without_servers
from tests.started_site import lived_in
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.slow
DEMO_SECONDS = 3 * PATIENCE_SECONDS
"""The limit for a whole demonstration, which takes minutes where nothing else runs."""


def test_it_ends_with_a_table_a_board_and_zero(tmp_path: Path) -> None:
    data, console = lived_in(tmp_path / "data"), tmp_path / "console"
    argv = [sys.executable, ROOT / "manage.py", "demo", "--preset", "micro", "--data", data, "--port", "0"]
    with console.open("wb") as out:
        demo = subprocess.Popen(
            [*argv, "--exit-when-done"], stdout=out, stderr=subprocess.STDOUT, env=without_servers()
        )
    code, said = demo.wait(DEMO_SECONDS), console.read_text()
    assert code == 0, said
    rows = re.findall(r"(ES|GRPO) +(\S+) +(\d) +succeeded +(-?[\d.]+) → (-?[\d.]+)", said)
    assert {(method, seed) for method, _, seed, _, _ in rows} == {(m, s) for m in ("ES", "GRPO") for s in "12"}
    assert all(float(after) > float(before) for *_, before, after in rows)
    assert "Every run succeeded. Rewards of conciseness rose; for safety λ moved" in said
    assert re.search(r"The board: http://127\.0\.0\.1:\d+/judging/\d+/board/", said), said
    assert "Traceback" not in said
