"""One cluster: brings it up, breaks parts of it, takes it down."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.clusters.slurm.config import GPUS, NODES, Ports, gres_conf, slurm_conf, slurmdbd_conf
from tests.clusters.slurm.daemons import Daemons, end_all_with
from tests.tools import not_installed
from tests.waiting import PATIENCE_SECONDS, wait_until

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "munged")
ACCOUNTING_PROGRAMS = ("slurmdbd", "sacctmgr", "sacct", "mariadbd", "mariadb-install-db")
PATIENT_SECONDS, SILENCE_SECONDS = 60, 4
"""MessageTimeout of the servers and the tests' own questions, and of esweb's: that of a frozen controller passes."""
NULL = (1, 3)
"""Major and minor number of /dev/null."""


def missing(accounting: bool = False) -> str:
    """Why no cluster can be brought up here; empty where one can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a Slurm of one's own needs Linux and root"
    wanted = PROGRAMS + (ACCOUNTING_PROGRAMS if accounting else ())
    absent = [name for name in wanted if shutil.which(name) is None]
    return not_installed("Slurm", f" (no {', '.join(absent)})") if absent else ""


class SlurmCluster:
    """Three nodes, n1 to n3, with four cores and two fake GPUs each. All that it writes lies under `root`."""

    def __init__(self, root: Path, accounting: bool = False) -> None:
        self.root, self.accounting = root, accounting
        self.conf, self.servers_conf = root / "clients.conf", root / "slurm.conf"
        self.daemons = Daemons(root)

    def up(self) -> None:
        """Starts what does not run yet and waits until all nodes are idle."""
        self._write()
        socket, log = self.root / "munge.sock", self.root / "munge"
        files = (f"--key-file={log}/key", f"--pid-file={log}/pid", f"--log-file={log}/log", f"--seed-file={log}/seed")
        self.daemons.start("munged", ("munged", "--foreground", "--force", f"--socket={socket}", *files))
        self._await("munged", lambda: self._works("munge", "-n", f"--socket={socket}"))
        if self.accounting:
            self._start_accounting()
        self.start_controller()
        for n in range(1, NODES + 1):
            self.start_node(n)
        self._await("slurmd-n1", self._is_ready)

    def down(self) -> None:
        """Ends every job, then every server, what is left of jobs that were lost, and removes the folder."""
        if self.daemons.is_running("slurmctld"):
            self.daemons.send("slurmctld", signal.SIGCONT)
            self.cancel_all()
        for name in sorted(self.daemons.names(), key=_last_first):
            self.daemons.stop(name, signal.SIGKILL)
        for conf in (self.conf, self.servers_conf):
            end_all_with(f"SLURM_CONF={conf}")
        shutil.rmtree(self.root, ignore_errors=True)

    def ask(self, *argv: str, text: str = "") -> str:
        """What a client of Slurm prints, which reads `text`. Raises CalledProcessError."""
        asked = subprocess.run(
            argv, env=self.env(), input=text, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
        )
        return asked.stdout

    def env(self) -> dict[str, str]:
        """Return the environment of the servers and of the tests' own questions, which wait long for an answer."""
        return {**os.environ, "SLURM_CONF": str(self.servers_conf)}

    def start_controller(self) -> None:
        """Starts slurmctld and waits until it answers."""
        self.daemons.start("slurmctld", ("slurmctld", "-D"), self.env())
        self._await("slurmctld", lambda: self._works("scontrol", "ping"))

    def kill_controller(self) -> None:
        """kill -9: it loses what it has not saved."""
        self.daemons.stop("slurmctld", signal.SIGKILL)

    def forget_jobs(self) -> None:
        """kill -9 of the controller and the loss of its state: it comes back knowing no job."""
        self.kill_controller()
        shutil.rmtree(self.root / "state")
        (self.root / "state").mkdir()
        self.start_controller()

    def write_down(self, job: str) -> None:
        """Waits until the controller has written what it knows of a job: a moment after its start it may not have."""
        since = time.time_ns()
        self.ask("scontrol", "update", f"JobId={job}", "Comment=written")
        wait_until(lambda: self._has_written_since(since), f"the Slurm controller to write its state of job {job}")

    def save_state(self) -> None:
        """Keeps what the controller has written of its jobs, once it has written something."""
        wait_until(self._has_kept_state, "the Slurm controller to have written the state of its jobs")

    def go_back(self) -> None:
        """kill -9 of the controller, which comes back with the state that was kept: jobs since then it has lost."""
        self.kill_controller()
        shutil.rmtree(self.root / "state")
        (self.root / "state.kept").rename(self.root / "state")
        self.start_controller()

    def start_node(self, n: int) -> None:
        """Starts the slurmd of a node."""
        (self.root / "spool" / f"n{n}").mkdir(parents=True, exist_ok=True)
        self.daemons.start(f"slurmd-n{n}", ("slurmd", "-D", "-N", f"n{n}"), self.env())

    def kill_node(self, n: int) -> None:
        """kill -9 of its slurmd; what it has started goes on."""
        self.daemons.stop(f"slurmd-n{n}", signal.SIGKILL)

    def lose_node(self, n: int) -> None:
        """The same, and the time over after which the controller takes a node that says nothing for lost."""
        self.kill_node(n)
        self.ask("scontrol", "update", f"NodeName=n{n}", "State=DOWN", "Reason=test")

    def mend(self) -> None:
        """Starts again what a test has broken, and ends its jobs."""
        self.daemons.send("slurmctld", signal.SIGCONT)
        self.start_controller()
        for n in range(1, NODES + 1):
            self.start_node(n)
        self.cancel_all()
        self._await("slurmd-n1", self._is_mended)

    def told(self) -> str:
        """Its nodes and jobs, as its own commands show them."""
        asks = (("sinfo", "-N", "-l"), ("squeue", "-t", "all", "-o", "%i %T %r %N %j"))
        answers = [subprocess.run(ask, env=self.env(), capture_output=True, text=True, check=False) for ask in asks]
        return "".join(f"{answer.stdout}{answer.stderr}" for answer in answers)

    def resume_nodes(self) -> None:
        """As an administrator would: Slurm drains a node on which a job did not start, as one whose number it had
        given out before it lost the other."""
        for n in range(1, NODES + 1):
            self._works("scontrol", "update", f"NodeName=n{n}", "State=RESUME")

    def cancel_all(self) -> None:
        """Ends every job, at once, and waits for that."""
        for options in (("--signal=KILL", "--full"), ()):
            argv = ("scancel", "--me", *options)
            subprocess.run(argv, env=self.env(), capture_output=True, timeout=PATIENCE_SECONDS, check=False)
        wait_until(lambda: not self.ask("squeue", "-h", "-o", "%i"), "every Slurm job to end", details=self.told)

    def _write(self) -> None:
        for folder in ("munge", "state", "spool"):
            (self.root / folder).mkdir(parents=True, exist_ok=True, mode=0o755)
        if self.conf.exists():
            return
        (self.root / "munge").chmod(0o700)
        key = self.root / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        for i in range(GPUS):
            os.mknod(self.root / f"gpu{i}", 0o666 | stat.S_IFCHR, os.makedev(*NULL))
        ports = Ports.free()
        (self.root / "gres.conf").write_text(gres_conf(self.root))
        (self.root / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        accounts = self.root / "slurmdbd.conf"
        accounts.write_text(slurmdbd_conf(self.root, ports))
        accounts.chmod(0o600)
        self.servers_conf.write_text(slurm_conf(self.root, ports, self.accounting, PATIENT_SECONDS))
        self.conf.write_text(slurm_conf(self.root, ports, self.accounting, SILENCE_SECONDS))

    def _start_accounting(self) -> None:
        data, socket = self.root / "mysql", self.root / "mysql.sock"
        options = ("--no-defaults", "--user=root", f"--datadir={data}")
        if not data.exists():
            install = ("mariadb-install-db", *options, "--auth-root-authentication-method=socket", "--skip-test-db")
            subprocess.run(install, capture_output=True, check=True)
        quick = ("--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=0")
        self.daemons.start("mariadbd", ("mariadbd", *options, f"--socket={socket}", "--skip-networking", *quick))
        sql = (
            "create database if not exists slurm_acct_db; "
            "create user if not exists slurm@localhost identified by 'slurm'; "
            "grant all on slurm_acct_db.* to slurm@localhost"
        )
        self._await("mariadbd", lambda: self._works("mariadb", "--no-defaults", "-S", str(socket), "-e", sql))
        self.daemons.start("slurmdbd", ("slurmdbd", "-D", "-s"), {**self.env(), "MYSQL_UNIX_PORT": str(socket)})
        self._await("slurmdbd", lambda: self._works("sacctmgr", "-n", "show", "cluster"))
        for what in (("cluster", "test"), ("account", "lab", "Cluster=test"), ("user", "root", "Account=lab")):
            self._works("sacctmgr", "-i", "add", *what)

    def _has_written_since(self, since: int) -> bool:
        """False where it writes just now: then there is no such file for a moment."""
        with contextlib.suppress(FileNotFoundError):
            return (self.root / "state" / "job_state").stat().st_mtime_ns > since
        return False

    def _has_kept_state(self) -> bool:
        """False where it wrote just now: then files vanish under the copy."""
        kept = self.root / "state.kept"
        shutil.rmtree(kept, ignore_errors=True)
        try:
            shutil.copytree(self.root / "state", kept)
        except (shutil.Error, FileNotFoundError):
            return False
        return (kept / "job_state").exists()

    def _is_mended(self) -> bool:
        self.resume_nodes()
        return self._is_ready()

    def _is_ready(self) -> bool:
        # One that has just begun, or has too much to do, gives no answer yet.
        with contextlib.suppress(subprocess.SubprocessError):
            idle = self.ask("sinfo", "--noheader", "--Node", "--partition=main", "--format=%T").split()
            return idle == ["idle"] * NODES
        return False

    def _works(self, *argv: str) -> bool:
        done = subprocess.run(argv, env=self.env(), stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return done.returncode == 0

    def _await(self, name: str, is_ready: Callable[[], bool]) -> None:
        wait_until(is_ready, f"{name} to be ready", details=lambda: f"{self.daemons.last_words(name)}\n{self.told()}")


def _last_first(name: str) -> int:
    order = ("slurmd-", "slurmctld", "slurmdbd", "mariadbd", "munged")
    return next(i for i, start in enumerate(order) if name.startswith(start))
