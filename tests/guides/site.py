"""Create on a site the rows that guides assume: python -m tests.guides.site FILES, in a process with its settings.

Users, a finished run, a tournament, two clusters and a scorer; in the folder FILES, files as readers have them.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "esweb.settings")
django.setup()

from django.contrib.auth.models import User  # noqa: E402  (models exist only once Django is set up)

from runs import access  # noqa: E402
from runs.access.scorer_secrets import save_secret  # noqa: E402
from runs.models import Cluster, Experiment, Run  # noqa: E402
from runs.service_registry import commands  # noqa: E402
from tests.judging.tournament_factory import make_tournament  # noqa: E402
from tests.runs import checkpoint_files, full_runs  # noqa: E402

UID = "k3m9x2p7qa"
"""The uid of the run in the guides."""
ES_LOG = """Using Hyperparameters: ALPHA=0.0005, SIGMA=0.001, population_size=30
Iteration 1/2, Time: 30.48s, Mean: -289.98, Min: -400.00, Max: -100.00
Iteration 2/2, Time: 30.12s, Mean: -250.10, Min: -390.00, Max: -90.00
"""


def make_site(files: Path) -> None:
    """Create all rows, and the files that guides name."""
    admin = User.objects.create_superuser("admin")
    experiment = Experiment.objects.create(name="Concise", owner=admin)
    _make_run(experiment)
    make_tournament(admin, experiment, prompts=1)
    for name in ("gpu", "gpus"):
        Cluster.objects.create(name=name, kind="slurm")
    commands.register(
        admin, commands.Registration("scorer", "beaver", "0123456789", "http://127.0.0.1:9", lease_seconds=3600)
    )
    save_secret(admin, "beaver-token", "a-token-of-a-scorer", address="http://127.0.0.1:9")
    _write_files(files, access.issue(admin, "read")[1])


def _make_run(experiment: Experiment) -> None:
    created_run = full_runs.make_run(experiment, "es-micro", state="interrupted")
    created_run.attempts.update(key=f"esweb-{UID}-a1")
    Run.objects.filter(pk=created_run.pk).update(uid=UID)
    run = Run.objects.get(uid=UID)
    full_runs.record(run, full_runs.a_bit_of_everything())
    checkpoint_files.save(run, 13)


def _write_files(files: Path, token: str) -> None:
    judgment = {"model_a": "ES", "model_b": "GRPO", "dimension": "helpfulness", "scores": [8, 4]}
    gold = {"prompt": "?", "response_a": "no", "response_b": "yes", "expected": {"helpfulness": "b"}}
    texts = {
        "run.log": ES_LOG,
        "alpha0.0005_sigma0.001/run.log": ES_LOG.replace("-250.10", "-240.10"),
        "judgments.jsonl": _lines([judgment | {"prompt_id": n, "scores": [8, n]} for n in range(10)]),
        "people.jsonl": _lines([gold]),
        "train.jsonl": _lines([_safety_prompt(n) for n in range(1200)]),
        "test.jsonl": _lines([_safety_prompt(n) for n in range(1200, 1300)]),
        "read-token": token,
    }
    for name, text in texts.items():
        file = files / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def _safety_prompt(number: int) -> dict[str, object]:
    """Return a line in the format of PKU-SafeRLHF."""
    safe = {f"is_response_{k}_safe": bool(number >> k & 1) for k in (0, 1)}
    return {"prompt": f"Request {number}?", "response_0": "a", "response_1": "b", "prompt_source": "Alpaca", **safe}


def _lines(rows: list[dict[str, object]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


if __name__ == "__main__":
    make_site(Path(sys.argv[1]))
