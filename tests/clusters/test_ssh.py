"""Commands on a remote machine, over a real sshd: one connection, and no shell that interprets arguments."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from tests.clusters.sshd import Sshd
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.executors.base import NotBegun, Unreachable
from workers.executors.openssh import OpenSsh, RemoteDisk
from workers.executors.openssh.connection import Connection


@pytest.fixture
def ssh(sshd: Sshd) -> OpenSsh:
    """Return a remote shell over SSH."""
    return OpenSsh(sshd.connection(), sys.executable)


def test_arguments_arrive_unchanged_without_shell(ssh: OpenSsh, tmp_path: Path) -> None:
    arguments = [
        f"$(touch {tmp_path}/x)",
        f"`touch {tmp_path}/x`",
        f"a; touch {tmp_path}/x",
        "'",
        '"',
        "a b",
        "ünï\n",
        "-n",
    ]
    reply = ssh.run([sys.executable, "-c", "import sys; print(sys.argv[1:])", *arguments], PATIENCE_SECONDS)
    assert (reply.code, reply.out) == (0, f"{arguments}\n") and not list(tmp_path.iterdir())


def test_local_environment_is_not_sent(ssh: OpenSsh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "sown-here")
    output = replace(ssh, env={"SLURM_CONF": "/a b"}).run(["env"], PATIENCE_SECONDS).out
    assert "sown-here" not in output and "SLURM_CONF=/a b\n" in output and "LC_ALL=C" in output


def test_concurrent_commands_share_one_connection(ssh: OpenSsh, sshd: Sshd) -> None:
    ssh.connection.close()
    # The connection reports its end before it has ended.
    wait_until(lambda: not ssh.connection.control_path.exists(), "the SSH connection to close")
    before = sshd.logins()
    with ThreadPoolExecutor(12) as threads:
        codes = [
            reply.code
            for reply in threads.map(lambda n: ssh.run(["/bin/sh", "-c", f"exit {n}"], PATIENCE_SECONDS), range(12))
        ]
    assert codes == list(range(12)) and sshd.logins() == before + 1


def test_failed_command_differs_from_unstarted_one(ssh: OpenSsh) -> None:
    assert ssh.run(["/bin/sh", "-c", "echo no >&2; exit 255"], PATIENCE_SECONDS).code == 255
    with pytest.raises(NotBegun, match=r"nosuch cannot be run on root@127.0.0.1:.*: No such file"):
        ssh.run(["nosuch"], PATIENCE_SECONDS)
    with pytest.raises(NotBegun, match="/opt/none does not run on"):
        replace(ssh, python="/opt/none").run(["true"], PATIENCE_SECONDS)


def test_timeout_leaves_outcome_unknown(ssh: OpenSsh) -> None:
    with pytest.raises(Unreachable, match=r"sleep did not answer within 0.3 s") as late:
        ssh.run(["sleep", "5"], 0.3)
    assert not isinstance(late.value, NotBegun)


def test_broken_connection_is_replaced(ssh: OpenSsh, sshd: Sshd, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = f"echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; exec sleep 600"
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(ssh.run, ["/bin/sh", "-c", script], PATIENCE_SECONDS)
        wait_until(pid_file.exists, "the command to start")
        sshd.stop()
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
        with pytest.raises(Unreachable) as broken:
            future.result()
    assert not isinstance(broken.value, NotBegun)
    with pytest.raises(NotBegun, match="nothing listens on its port"):
        ssh.run(["true"], PATIENCE_SECONDS)
    sshd.start()
    assert ssh.run(["true"], PATIENCE_SECONDS).code == 0


def test_unknown_host_key_is_refused(ssh: OpenSsh, tmp_path: Path) -> None:
    (tmp_path / "known").touch()
    stranger = Connection(replace(ssh.connection.access, known_hosts=str(tmp_path / "known")))
    with pytest.raises(NotBegun, match="its host key is unknown: see known_hosts"):
        OpenSsh(stranger, sys.executable).run(["true"], PATIENCE_SECONDS)


def test_wrong_key_is_reported(ssh: OpenSsh, sshd: Sshd) -> None:
    wrong = Connection(replace(ssh.connection.access, key_file=str(sshd.root / "host_key")))
    with pytest.raises(NotBegun, match="it refuses to let esweb sign in: see key_file"):
        OpenSsh(wrong, sys.executable).run(["true"], PATIENCE_SECONDS)


def test_connection_folder_must_be_private(ssh: OpenSsh, tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    with pytest.raises(NotBegun, match="must be a folder that only this account can access"):
        OpenSsh(replace(ssh.connection, folder=tmp_path), sys.executable).run(["true"], PATIENCE_SECONDS)


def test_code_is_shipped_once_and_runs(ssh: OpenSsh, tmp_path: Path) -> None:
    disk = RemoteDisk(ssh, PurePosixPath(tmp_path / "far"), tmp_path / "runs", tmp_path / "code")
    project = disk.project("")
    shipped = Path(f"{project}.pyz")
    before = shipped.stat().st_mtime_ns
    assert disk.project("") == project and shipped.stat().st_mtime_ns == before
    argv = ["/usr/bin/env", f"PYTHONPATH={project}", sys.executable, "-m", "workers.agent", "--help"]
    assert "Run one attempt until it finishes" in ssh.run(argv, PATIENCE_SECONDS).out
    assert disk.project("/shared/esweb") == "/shared/esweb"


def test_folder_is_read_while_sent(ssh: OpenSsh, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "sub" / "large").write_bytes(bytes(3 << 20))
    (tmp_path / "link").symlink_to("/etc/passwd")
    fetched = ssh.fetch(str(tmp_path))
    assert fetched.files == [("a", 5), ("sub/large", 3 << 20)]
    assert fetched.read(5) == b"12345" and len(fetched.read(1 << 30)) == 3 << 20
    fetched.close()
    (tmp_path / "away").symlink_to("/etc/ssh")
    for path in (tmp_path / "none", tmp_path / "away"):
        empty = ssh.fetch(str(path))
        assert empty.files == []
        empty.close()


def test_fetch_does_not_block_commands_and_can_be_closed(ssh: OpenSsh, tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 26)
    fetches = [ssh.fetch(str(tmp_path)) for _ in range(2)]
    assert ssh.run(["true"], PATIENCE_SECONDS).code == 0
    for fetched in fetches:
        assert len(fetched.read(100)) == 100
        fetched.close()
    ssh.fetch(str(tmp_path)).close()
    with pytest.raises(Unreachable, match="/opt/none"):
        replace(ssh, python="/opt/none").fetch(str(tmp_path))


def test_files_of_a_job_are_sent_linked_and_fetched(ssh: OpenSsh, tmp_path: Path) -> None:
    home, key = tmp_path / "runs", "esweb-x-a1"
    directory = home / "x" / key
    directory.mkdir(parents=True)
    (directory / "run.json").write_text("{}")
    disk = RemoteDisk(ssh, PurePosixPath(tmp_path / "far"), home, tmp_path / "code")
    disk.send([directory / "run.json"])
    there = Path(disk.cluster_path(directory))
    assert there == tmp_path / "far" / "runs" / "x" / key and (there / "run.json").read_text() == "{}"
    disk.link(home / "arrays" / "x", [directory])
    assert (tmp_path / "far" / "runs" / "arrays" / "x" / "0").resolve() == there
    (there / "log.txt").write_text("hello\n")
    (there / "exit.json").write_text('{"code": 0}')
    argv = ["/bin/sh", "-c", "echo out; echo error >&2; exit 3"]
    reply = disk.run_and_fetch(argv, [key, "esweb-other-a1", "no key"], PATIENCE_SECONDS)
    assert (reply.code, reply.out, reply.err) == (3, "out\n", "error\n")
    assert (directory / "log.txt").read_text() == "hello\n" and (directory / "exit.json").read_text() == '{"code": 0}'
    fetched = disk.fetch(directory)
    assert fetched.files == [("exit.json", 11), ("log.txt", 6), ("run.json", 2)]
    fetched.close()
    assert disk.run(["cat"], PATIENCE_SECONDS, "a\nb\n").out == "a\nb\n"
    with pytest.raises(Unreachable, match=r"on root@127.0.0.1:\d+: /proc/"):
        RemoteDisk(ssh, PurePosixPath("/proc/none"), home, tmp_path / "code").send([directory / "run.json"])
