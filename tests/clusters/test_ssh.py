"""Commands on another machine, over a real sshd: one connection, and no shell that reads our words."""

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
from workers.executors.openssh import FarDisk, OpenSsh
from workers.executors.openssh.connection import Connection


@pytest.fixture
def ssh(sshd: Sshd) -> OpenSsh:
    """A shell there."""
    return OpenSsh(sshd.connection(), sys.executable)


def test_words_arrive_as_they_are_and_no_shell_reads_them(ssh: OpenSsh, tmp_path: Path) -> None:
    words = [
        f"$(touch {tmp_path}/x)",
        f"`touch {tmp_path}/x`",
        f"a; touch {tmp_path}/x",
        "'",
        '"',
        "a b",
        "ünï\n",
        "-n",
    ]
    said = ssh.run([sys.executable, "-c", "import sys; print(sys.argv[1:])", *words], PATIENCE_SECONDS)
    assert (said.code, said.out) == (0, f"{words}\n") and not list(tmp_path.iterdir())


def test_our_environment_does_not_go_there(ssh: OpenSsh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "sown-here")
    said = replace(ssh, env={"SLURM_CONF": "/a b"}).run(["env"], PATIENCE_SECONDS).out
    assert "sown-here" not in said and "SLURM_CONF=/a b\n" in said and "LC_ALL=C" in said


def test_twenty_commands_at_once_need_one_connection(ssh: OpenSsh, sshd: Sshd) -> None:
    ssh.connection.close()
    # It says that it will end before it has.
    wait_until(lambda: not ssh.connection.control_path.exists(), "the SSH connection to close")
    before = sshd.logins()
    with ThreadPoolExecutor(20) as many:
        codes = [
            answer.code
            for answer in many.map(lambda n: ssh.run(["/bin/sh", "-c", f"exit {n}"], PATIENCE_SECONDS), range(20))
        ]
    assert codes == list(range(20)) and sshd.logins() == before + 1


def test_what_ends_badly_there_is_an_answer_and_what_never_began_says_so(ssh: OpenSsh) -> None:
    assert ssh.run(["/bin/sh", "-c", "echo no >&2; exit 255"], PATIENCE_SECONDS).code == 255
    with pytest.raises(NotBegun, match=r"nosuch cannot be run on root@127.0.0.1:.*: No such file"):
        ssh.run(["nosuch"], PATIENCE_SECONDS)
    with pytest.raises(NotBegun, match="/opt/none does not run on"):
        replace(ssh, python="/opt/none").run(["true"], PATIENCE_SECONDS)


def test_a_command_that_takes_too_long_may_have_worked(ssh: OpenSsh) -> None:
    with pytest.raises(Unreachable, match=r"sleep gave no answer in 0.3 s") as late:
        ssh.run(["sleep", "5"], 0.3)
    assert not isinstance(late.value, NotBegun)


def test_a_connection_that_breaks_in_the_middle_leaves_it_open_and_the_next_one_works(
    ssh: OpenSsh, sshd: Sshd, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    script = f"echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; exec sleep 600"
    with ThreadPoolExecutor(1) as one:
        asked = one.submit(ssh.run, ["/bin/sh", "-c", script], PATIENCE_SECONDS)
        wait_until(pid_file.exists, "the command to start")
        sshd.stop()
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
        with pytest.raises(Unreachable) as broken:
            asked.result()
    assert not isinstance(broken.value, NotBegun)
    with pytest.raises(NotBegun, match="nobody answers at its port"):
        ssh.run(["true"], PATIENCE_SECONDS)
    sshd.start()
    assert ssh.run(["true"], PATIENCE_SECONDS).code == 0


def test_a_machine_whose_key_is_not_known_is_not_asked(ssh: OpenSsh, tmp_path: Path) -> None:
    (tmp_path / "known").touch()
    stranger = Connection(replace(ssh.connection.access, known_hosts=str(tmp_path / "known")))
    with pytest.raises(NotBegun, match="its host key is not among the known ones: see known_hosts"):
        OpenSsh(stranger, sys.executable).run(["true"], PATIENCE_SECONDS)


def test_a_key_that_does_not_fit_is_told(ssh: OpenSsh, sshd: Sshd) -> None:
    wrong = Connection(replace(ssh.connection.access, key_file=str(sshd.root / "host_key")))
    with pytest.raises(NotBegun, match="it does not let esweb in: see key_file"):
        OpenSsh(wrong, sys.executable).run(["true"], PATIENCE_SECONDS)


def test_the_folder_of_the_connection_must_be_ours_alone(ssh: OpenSsh, tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    with pytest.raises(NotBegun, match="must be a folder that is this account's alone"):
        OpenSsh(replace(ssh.connection, folder=tmp_path), sys.executable).run(["true"], PATIENCE_SECONDS)


def test_the_code_is_shipped_once_and_runs_there(ssh: OpenSsh, tmp_path: Path) -> None:
    disk = FarDisk(ssh, PurePosixPath(tmp_path / "far"), tmp_path / "runs", tmp_path / "code")
    project = disk.project("")
    shipped = Path(f"{project}.pyz")
    before = shipped.stat().st_mtime_ns
    assert disk.project("") == project and shipped.stat().st_mtime_ns == before
    argv = ["/usr/bin/env", f"PYTHONPATH={project}", sys.executable, "-m", "workers.agent", "--help"]
    assert "Runs one attempt to its end" in ssh.run(argv, PATIENCE_SECONDS).out
    assert disk.project("/shared/esweb") == "/shared/esweb"


def test_a_folder_is_read_from_there_while_it_is_sent(ssh: OpenSsh, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "sub" / "large").write_bytes(bytes(3 << 20))
    (tmp_path / "link").symlink_to("/etc/passwd")
    fetched = ssh.fetch(str(tmp_path))
    assert fetched.files == [("a", 5), ("sub/large", 3 << 20)]
    assert fetched.read(5) == b"12345" and len(fetched.read(1 << 30)) == 3 << 20
    fetched.close()
    (tmp_path / "away").symlink_to("/etc/ssh")
    for nothing in (tmp_path / "none", tmp_path / "away"):
        empty = ssh.fetch(str(nothing))
        assert empty.files == []
        empty.close()


def test_what_is_fetched_holds_no_command_up_and_ends_with_its_reader(ssh: OpenSsh, tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 30)
    two = [ssh.fetch(str(tmp_path)) for _ in range(2)]
    assert ssh.run(["true"], PATIENCE_SECONDS).code == 0
    for fetched in two:
        assert len(fetched.read(100)) == 100
        fetched.close()
    ssh.fetch(str(tmp_path)).close()
    with pytest.raises(Unreachable, match="/opt/none"):
        replace(ssh, python="/opt/none").fetch(str(tmp_path))
