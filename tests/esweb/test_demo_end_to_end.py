"""The demonstration end to end on the micro model: real servers, a real worker, real training.

`make test` trains one run of each method and one for safety; `make soak` the whole plan.
"""

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
MANAGE = f"""
import os, sys
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
os.environ |= {{"DJANGO_SETTINGS_MODULE": "esweb.settings", "PYTHONPATH": {str(ROOT)!r}}}
import manage
argv = manage.without_data_option(sys.argv)
import django
django.setup()
from esweb.demo import experiment
from esweb.management.commands import up
up.MANAGE_PY = Path(__file__)
concise, safe = experiment.PLANS["micro"].experiments
rare = {{"evaluation": {{"every": 10}}}}
changes = {{name: rare for name in ("es-micro", "grpo-micro", "es-safety-micro")}}
short = (replace(concise, runs=concise.runs[:2], changes=changes), replace(safe, runs=safe.runs[:1], changes=changes))
experiment.PLANS["micro"] = replace(experiment.PLANS["micro"], experiments=short)
manage.execute_from_command_line(argv)
"""
"""manage.py of an esweb whose plan has the first two runs for conciseness, ES and GRPO, and ES for safety. They are
evaluated at their start and end."""


def test_demo_prints_a_table_and_a_board_and_exits_with_0(tmp_path: Path) -> None:
    (tmp_path / "manage_short.py").write_text(MANAGE, encoding="utf-8")
    check_demo(tmp_path / "manage_short.py", tmp_path, seeds="1")


@pytest.mark.soak
def test_whole_demo_prints_a_table_and_a_board_and_exits_with_0(tmp_path: Path) -> None:
    check_demo(ROOT / "manage.py", tmp_path, seeds="12")


def check_demo(manage_py: Path, folder: Path, seeds: str) -> None:
    """Run the demonstration to its end, and check what it prints."""
    data, console = make_started_site(folder / "data"), folder / "console"
    argv = [sys.executable, manage_py, "demo", "--preset", "micro", "--data", data, "--port", "0"]
    with console.open("wb") as out:
        demo = subprocess.Popen(
            [*argv, "--exit-when-done"], stdout=out, stderr=subprocess.STDOUT, env=without_servers()
        )
    code, output = demo.wait(DEMO_SECONDS), console.read_text()
    assert code == 0, output
    rows = re.findall(r"(ES|GRPO) +(\S+) +(\d) +succeeded +(-?[\d.]+) → (-?[\d.]+)", output)
    assert {(method, seed) for method, _, seed, _, _ in rows} == {(m, s) for m in ("ES", "GRPO") for s in seeds}
    assert all(float(after) > float(before) for *_, before, after in rows)
    assert "No run is flagged." in output, output
    assert "Every run succeeded. Rewards of conciseness rose; for safety λ moved" in output
    assert re.search(r"Leaderboard: http://127\.0\.0\.1:\d+/judging/\d+/board/", output), output
    assert "Traceback" not in output
