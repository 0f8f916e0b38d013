"""`manage.py up`, as a user starts it: one command, real servers, real parts."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from esweb.bootstrap import prepare
from esweb.embedded import Postgres, database_url
from tests.esweb.web_process import ENCRYPTION
from tests.small_disks import needs_small_disk, small_disk
from tests.started_site import make_started_site
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.gpus.fake_library import NO_COMPILER, build_library, has_compiler
from workers.gpus import describe_offer
from workers.gpus.driver import Driver
from workers.gpus.offer import choose_cards
from workers.gpus.torch_build import installed_torch

ROOT = Path(__file__).resolve().parents[2]
GPUS = ["GPU-aa 143771 0 0", "GPU-bb 143771 0 0"]


class Up:
    """One `manage.py up` on a folder of its own, and its output."""

    def __init__(self, data: Path, *options: str, **variables: str) -> None:
        self.data, self.console = data, data.with_suffix(".console")
        with self.console.open("wb") as console:
            self.process = subprocess.Popen(
                [sys.executable, ROOT / "manage.py", "up", "--data", data, "--port", "0", *options],
                stdout=console,
                stderr=subprocess.STDOUT,
                env=without_servers() | {"ESWEB_LOCAL_SLOTS": "1"} | variables,
                start_new_session=True,
            )

    def output(self) -> str:
        return self.console.read_text()

    def wait_for(self, pattern: str, times: int = 1) -> str:
        """Return the first group of the latest match, once the console has so many."""

        def matches() -> list[str]:
            has_ended = self.process.poll() is not None
            groups = re.findall(pattern, self.output())
            assert groups or not has_ended, self.output()
            return groups if len(groups) >= times else []

        return wait_until(matches, f"the console to show {pattern}", details=self.output)[-1]

    @property
    def address(self) -> str:
        return self.wait_for(r"ready at (\S+)/")

    def children(self) -> dict[str, int]:
        """Pids of everything below it, by what is in their command line."""
        return {command: pid for pid, command in processes().items() if str(self.data) in environ(pid)}

    def pids_of(self, words: str) -> set[int]:
        """Return the processes below it with these words in their command line: a part may have a spare one."""
        return {pid for pid, command in processes().items() if words in command and str(self.data) in environ(pid)}

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)


def without_servers() -> dict[str, str]:
    """Our environment, less what names servers or the tests' own data."""
    return {k: v for k, v in os.environ.items() if k not in {"DATABASE_URL", "REDIS_URL", "ESWEB_DATA"}}


def processes() -> dict[int, str]:
    """Return the command line of every running process, by pid. Zombies have none."""
    commands = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if command := (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip():
                commands[int(folder.name)] = command
        except OSError:
            continue
    return commands


def environ(pid: int) -> str:
    """Environment and command line of a process; parts carry the data folder in the first, servers in the second."""
    folder = Path("/proc") / str(pid)
    try:
        return ((folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()).decode(errors="replace")
    except OSError:
        return ""


def get(address: str) -> int:
    """Return the reply's status; 0 if a part that was killed just before gives none."""
    try:
        return httpx.get(address, timeout=PATIENCE_SECONDS, verify=ENCRYPTION).status_code
    except httpx.TransportError:
        return 0


def _signs_in(site: str, name: str, password: str) -> bool:
    """Return whether the form at /login/ takes this name and password."""
    with httpx.Client(base_url=site, timeout=PATIENCE_SECONDS, verify=ENCRYPTION) as browser:
        browser.get("/login/")
        form = {"username": name, "password": password, "csrfmiddlewaretoken": browser.cookies["csrftoken"]}
        browser.post("/login/", data=form)
        return "sessionid" in browser.cookies


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """Start for the first time since an update: the table of sessions, without which nobody signs in, is missing.

    All migrations take seven seconds of a core. The soak begins with no database; test_bundled_servers creates one.
    """
    data = make_started_site(tmp_path_factory.mktemp("up") / "data")
    undo_migration_of_sessions(data)
    # As a folder that was made by hand.
    data.chmod(0o755)
    running = Up(data, **(build_library(data.parent, GPUS) if has_compiler() else {}))
    yield running
    running.end()


def undo_migration_of_sessions(data: Path) -> None:
    postgres = Postgres(data, durable=False)
    postgres.start()
    try:
        with psycopg.connect(database_url(data)) as connection:
            connection.execute("DROP TABLE django_session")
            assert connection.execute("DELETE FROM django_migrations WHERE app = 'sessions'").rowcount == 1
    finally:
        postgres.stop()


@pytest.mark.soak
def test_first_start_creates_the_database_and_its_admin(tmp_path: Path) -> None:
    data = make_started_site(tmp_path / "data")
    shutil.rmtree(data / "postgres")
    first = Up(data)
    try:
        file = Path(first.wait_for(r"the password of admin is in (\S+)"))
        assert _signs_in(first.address, "admin", file.read_text().strip())
    finally:
        first.end()


def test_up_prints_the_address_of_a_healthy_site(up: Up) -> None:
    wait_until(lambda: get(f"{up.address}/healthz") == 200, "the site to be well", details=up.output)


@pytest.mark.skipif(not has_compiler(), reason=NO_COMPILER)
def test_up_prints_the_gpus_of_the_machine_in_one_line(up: Up, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in build_library(tmp_path, GPUS).items():
        monkeypatch.setenv(name, value)
    # Whether runs can use them depends on the torch that is installed here.
    line = describe_offer(choose_cards(None, Driver().read(), installed_torch(), os.environ))
    assert up.wait_for(r"esweb \| (GPUs.*)") == line
    assert up.output().count("GPUs") == 1


def test_up_prints_the_file_of_the_password_and_not_the_password(up: Up) -> None:
    file = Path(up.wait_for(r"the password of admin is in (\S+)"))
    up.wait_for(r"open this link.*: (http\S+)")
    assert file == up.data / "admin-password"
    assert file.stat().st_mode & 0o777 == 0o600
    password = file.read_text().strip()
    assert len(password) >= 10
    logs = [log.read_text(errors="replace") for log in (up.data / "logs").glob("*.log")]
    assert all(password not in text for text in [up.output(), *logs])
    assert _signs_in(up.address, "admin", password)
    assert (up.data / "secret-key").stat().st_mode & 0o777 == 0o600


def test_printed_link_signs_in_once(up: Up) -> None:
    link = up.wait_for(r"open this link.*: (http\S+)")
    assert "sessionid" in httpx.get(link, timeout=PATIENCE_SECONDS).cookies
    assert "sessionid" not in httpx.get(link, timeout=PATIENCE_SECONDS).cookies


def test_static_files_of_a_page_are_small_and_immutable(up: Up) -> None:
    headers = {"Accept-Encoding": "br"}
    with httpx.Client(base_url=up.address, headers=headers, timeout=PATIENCE_SECONDS, verify=ENCRYPTION) as browser:
        named = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', browser.get("/login/").text))
        assert any(file.endswith(".css") for file in named)
        for file in named:
            sent = browser.get(file)
            assert "immutable" in sent.headers["Cache-Control"]
            assert sent.headers.get("Content-Encoding") == "br" or len(sent.content) < 1000


def test_all_parts_run(up: Up) -> None:
    assert up.address
    commands = " ".join(up.children())
    for part in ("bin/postgres", "valkey-server", "esweb.supervisor.web", " worker ", " beat ", "manage.py follow"):
        assert part in commands


def test_all_parts_create_private_files(up: Up) -> None:
    assert up.address
    masks = {
        command: re.findall(r"^Umask:\s+(\d+)", (Path("/proc") / str(pid) / "status").read_text(), re.MULTILINE)
        for command, pid in up.children().items()
        # PostgreSQL has one of its own for its files, in a folder of its own.
        if "postgres" not in command
    }
    assert masks and all(mask == ["0077"] for mask in masks.values()), masks
    assert up.data.stat().st_mode & 0o777 == 0o700
    open_files = [path for path in up.data.glob("[!sp]*/*") if path.is_file() and path.stat().st_mode & 0o077]
    assert open_files == []


@pytest.mark.parametrize("part", ["esweb.supervisor.web", " beat ", "valkey-server"])
def test_a_part_that_dies_is_started_again(up: Up, part: str) -> None:
    wait_until(lambda: get(f"{up.address}/healthz") == 200, "the site to be well", details=up.output)
    killed = up.pids_of(part)
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: up.pids_of(part) - killed, f"a new process of {part.strip()}", details=up.output)
    wait_until(lambda: get(f"{up.address}/healthz") == 200, "the site to be healthy again", details=up.output)
    assert re.search(r"was killed by SIGKILL; restarting", up.output())


def test_second_up_on_the_same_data_is_refused(up: Up, settings: Settings) -> None:
    assert up.address
    settings.DATA_DIR = up.data
    with pytest.raises(CommandError, match=re.escape(f"already running on {up.data} (process {up.process.pid})")):
        call_command("up", port=0)


@pytest.fixture(scope="module")
def second(up: Up) -> Iterator[Up]:
    """Start `up` again on the same data, after the first was killed."""
    assert up.address
    up.process.kill()
    up.process.wait()
    running = Up(up.data)
    yield running
    running.end()


def test_killed_outright_it_takes_its_children_along_and_starts_again(second: Up) -> None:
    wait_until(lambda: get(f"{second.address}/healthz") == 200, "the site to be well", details=second.output)
    assert not re.search(r"password \S+$", second.output()), "a password is printed once"


def test_stopping_up_interrupts_the_run_and_leaves_no_process(second: Up) -> None:
    launch_two(second)
    second.process.send_signal(signal.SIGINT)
    assert second.process.wait(PATIENCE_SECONDS) == 0
    assert second.children() == {}
    assert "stopped on this machine; the next start resumes them: esweb-" in second.output()
    assert second.output().rstrip().endswith("stopped")
    assert "Traceback" not in second.output()
    assert states_in(second.data) == ["interrupted", "queued"]


def launch_two(running: Up) -> None:
    """Launch runs that would go on for days, and return once one has begun; the other waits for its place."""
    body = {"experiment_name": "Stopped", "preset": "es-micro", "config": {"es": {"iterations": 100_000}}}
    link = running.wait_for(r"open this link.*: (http\S+)")
    with httpx.Client(base_url=running.address, timeout=PATIENCE_SECONDS, follow_redirects=True) as browser:
        browser.get(link)
        for _ in range(2):
            answer = browser.post("/api/v1/runs", json=body, headers={"X-CSRFToken": browser.cookies["csrftoken"]})
            assert answer.is_success, answer.text
        wait_until(lambda: "running" in states(browser), "a run to begin", details=running.output)


def states(browser: httpx.Client) -> list[str]:
    """Return the states of all runs, from the site's API."""
    return [run["state"] for run in browser.get("/api/v1/runs").json()["items"]]


def states_in(data: Path) -> list[str]:
    """Return the states of all runs in order, as the next start finds them."""
    postgres = Postgres(data)
    postgres.start()
    try:
        with psycopg.connect(database_url(data)) as connection:
            return sorted(str(state) for (state,) in connection.execute("SELECT state FROM runs_run").fetchall())
    finally:
        postgres.stop()


def test_busy_port_is_reported_in_a_sentence(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path / "data"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = f"Port {port} on 127.0.0.1 cannot be used (Address already in use). Choose another one with --port."
        with pytest.raises(CommandError, match=re.escape(message)):
            call_command("up", port=port)
    assert not (tmp_path / "data" / "postgres").exists()


def test_unwritable_folder_is_reported_in_a_sentence(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.write_text("")
    with pytest.raises(CommandError, match=r"The data folder .* cannot be used"):
        call_command("up", port=0)


@pytest.fixture
def open_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an `up` in the tests' process leave their connections to the database open."""
    monkeypatch.setattr(prepare, "release_database", lambda: None)


@pytest.mark.usefixtures("open_connections")
def test_a_database_that_does_not_answer_is_named(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR, settings.DATABASE_URL = tmp_path, "postgresql://ann@127.0.0.1:1/none"
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    with pytest.raises(CommandError, match=r"The database does not answer: .*port 1"):
        call_command("up", port=0)


def test_invalid_setting_is_reported_in_a_sentence(tmp_path: Path) -> None:
    argv = [sys.executable, ROOT / "manage.py", "up", "--data", tmp_path]
    env = without_servers() | {"ESWEB_DEBUG": "perhaps"}
    ended = subprocess.run(argv, capture_output=True, text=True, env=env, check=False, timeout=PATIENCE_SECONDS)
    assert ended.returncode == 1
    assert "ESWEB_DEBUG must be 1 or 0" in ended.stderr
    assert "Traceback" not in ended.stderr


@needs_small_disk
@pytest.mark.usefixtures("open_connections")
@pytest.mark.parametrize(
    ("remount", "message"),
    [([], r"The disk of .* is full"), (["mount", "-o", "remount,ro"], "cannot be used: Read-only file system")],
    ids=["full", "read-only"],
)
def test_full_or_read_only_disk_is_reported_in_a_sentence(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, remount: list[str], message: str
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    with small_disk(settings.DATA_DIR, 4):
        if remount:
            subprocess.run([*remount, settings.DATA_DIR], check=True)
        with pytest.raises(CommandError, match=message):
            call_command("up", port=0)
