"""The request to Ray: its shell gets only fixed and quoted words, and no environment of esweb is in it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cases import each_case
from workers.executors.base import Rejected, Spec
from workers.executors.ray import Ray, Site
from workers.executors.ray.request import entrypoint, request

ADDRESS = "http://127.0.0.1:1"


def spec(directory: Path, **needs: object) -> Spec:
    return Spec("esweb-x-a1", directory, ("python", "-m", "workers.train"), **needs)  # type: ignore[arg-type]


def test_request_has_resources_of_run(tmp_path: Path) -> None:
    site = Site(ADDRESS, resources={"accelerator_type:A100": 0.001})
    body = request(site, spec(tmp_path, cores=4, gpus=2, memory_mb=500, grace_seconds=59.5))
    assert body["submission_id"] == "esweb-x-a1"
    assert (body["entrypoint_num_cpus"], body["entrypoint_num_gpus"]) == (4, 2)
    assert body["entrypoint_memory"] == 500 * 2**20
    assert body["entrypoint_resources"] == {"accelerator_type:A100": 0.001}
    # Ray's own patience is three seconds; the agent's is the run's grace.
    assert body["runtime_env"] == {"env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": "65"}}
    assert "CUDA_VISIBLE_DEVICES" not in body["entrypoint"]


def test_share_of_a_gpu_is_requested_as_a_fraction(tmp_path: Path) -> None:
    body = request(Site(ADDRESS), spec(tmp_path, gpus=0.25))
    assert body["entrypoint_num_gpus"] == 0.25 and "CUDA_VISIBLE_DEVICES" not in body["entrypoint"]


def test_request_omits_defaults_and_hides_gpus(tmp_path: Path) -> None:
    body = request(Site(ADDRESS), spec(tmp_path))
    assert not body.keys() & {"entrypoint_num_gpus", "entrypoint_memory", "entrypoint_resources"}
    assert " CUDA_VISIBLE_DEVICES= " in body["entrypoint"]


def test_entrypoint_quotes_config_and_paths(tmp_path: Path) -> None:
    bad = f"a b'\"$(touch {tmp_path}/x);`touch {tmp_path}/x`\n| & > *"
    shows = tmp_path / "shows its arguments"
    shows.write_text(
        '#!/usr/bin/env python3\nimport json, os, sys\nprint(json.dumps([os.environ["NOTE"], *sys.argv[1:]]))'
    )
    shows.chmod(0o700)
    line = entrypoint(Site(ADDRESS, python=str(shows), env={"NOTE": bad}), spec(Path(f"/runs/{bad}")))
    assert line.startswith("exec /usr/bin/env ")
    output = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=True).stdout
    assert json.loads(output) == [bad, "-m", "workers.agent", f"/runs/{bad}"] and not (tmp_path / "x").exists()


def test_request_holds_no_environment_of_esweb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "planted")
    assert "planted" not in json.dumps(request(Site(ADDRESS), spec(tmp_path)))


@each_case("key", ["a;b", "$(x)", "-a", "a b", "../a", "a\n", "a/stop", "a?b"])
def test_hostile_key_is_refused_without_side_effects(tmp_path: Path, key: str) -> None:
    ray = Ray(Site(ADDRESS), tmp_path / "queue")
    with pytest.raises(Rejected, match="is not a valid key"):
        ray.submit(Spec(key, tmp_path / "job", ("true",)))
    assert not (tmp_path / "job").exists()
    assert ray.find(key) is None
    ray.cancel(key, 1.0)
