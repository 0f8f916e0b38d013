"""What Ray is told: its shell reads fixed words and quoted ones, and no environment of ours is in it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from workers.executors.base import Rejected, Spec
from workers.executors.ray import Ray, Site
from workers.executors.ray.request import entrypoint, request

ADDRESS = "http://127.0.0.1:1"


def spec(directory: Path, **needs: object) -> Spec:
    return Spec("esweb-x-a1", directory, ("python", "-m", "workers.train"), **needs)  # type: ignore[arg-type]


def test_a_job_is_given_what_its_run_asks_for(tmp_path: Path) -> None:
    site = Site(ADDRESS, resources={"accelerator_type:A100": 0.001})
    said = request(site, spec(tmp_path, cores=4, gpus=2, memory_mb=500, grace_seconds=59.5))
    assert said["submission_id"] == "esweb-x-a1"
    assert (said["entrypoint_num_cpus"], said["entrypoint_num_gpus"]) == (4, 2)
    assert said["entrypoint_memory"] == 500 * 2**20
    assert said["entrypoint_resources"] == {"accelerator_type:A100": 0.001}
    # Ray's own patience is three seconds; the agent's is the run's grace.
    assert said["runtime_env"] == {"env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": "65"}}
    assert "CUDA_VISIBLE_DEVICES" not in said["entrypoint"]


def test_what_is_left_to_ray_is_not_said_and_a_job_without_gpus_sees_none(tmp_path: Path) -> None:
    said = request(Site(ADDRESS), spec(tmp_path))
    assert not said.keys() & {"entrypoint_num_gpus", "entrypoint_memory", "entrypoint_resources"}
    assert " CUDA_VISIBLE_DEVICES= " in said["entrypoint"]


def test_the_shell_reads_no_word_of_a_config_or_a_path(tmp_path: Path) -> None:
    bad = f"a b'\"$(touch {tmp_path}/x);`touch {tmp_path}/x`\n| & > *"
    shows = tmp_path / "shows its arguments"
    shows.write_text(
        '#!/usr/bin/env python3\nimport json, os, sys\nprint(json.dumps([os.environ["NOTE"], *sys.argv[1:]]))'
    )
    shows.chmod(0o700)
    line = entrypoint(Site(ADDRESS, python=str(shows), env={"NOTE": bad}), spec(Path(f"/runs/{bad}")))
    assert line.startswith("exec /usr/bin/env ")
    said = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=True).stdout
    assert json.loads(said) == [bad, "-m", "workers.agent", f"/runs/{bad}"] and not (tmp_path / "x").exists()


def test_nothing_of_our_environment_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "planted")
    assert "planted" not in json.dumps(request(Site(ADDRESS), spec(tmp_path)))


@pytest.mark.parametrize("key", ["a;b", "$(x)", "-a", "a b", "../a", "a\n", "a/stop", "a?b"])
def test_a_hostile_key_is_refused_before_anything_is_written_or_asked(tmp_path: Path, key: str) -> None:
    far = Ray(Site(ADDRESS), tmp_path / "queue")
    with pytest.raises(Rejected, match="is no key"):
        far.submit(Spec(key, tmp_path / "job", ("true",)))
    assert not (tmp_path / "job").exists()
    assert far.find(key) is None
    far.cancel(key, 1.0)
