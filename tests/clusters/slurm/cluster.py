"""One cluster: brings it up, breaks parts of it, takes it down."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.clusters.slurm.config import GPUS, NODES, Ports, gres_conf, slurm_conf, slurmdbd_conf
from tests.clusters.slurm.daemons import Daemons, end_all_with
from tests.tools import not_installed
from tests.waiting import PATIENCE_SECONDS, wait_until

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "munged")
ACCOUNTING_PROGRAMS = ("slurmdbd", "sacctmgr", "sacct", "mariadbd", "mariadb-install-db")
PATIENT_SECONDS, IMPATIENT_SECONDS = 60, 1
"""MessageTimeout of the servers and their clients, and of clients of a controller that a test has made silent."""
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
        self.conf, self.impatient_conf = root / "slurm.conf", root / "impatient.conf"
        self.daemons = Daemons(root)
        self._controller_was_away = False

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
        for conf in (self.conf, self.impatient_conf):
            end_all_with(f"SLURM_CONF={conf}")
        shutil.rmtree(self.root, ignore_errors=True)

    def ask(self, *argv: str, text: str = "") -> str:
        """What a client of Slurm prints, which reads `text`. Raises CalledProcessError."""
        asked = subprocess.run(
            argv, env=self.env(), input=text, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
        )
        return asked.stdout

    def env(self) -> dict[str, str]:
        """Return the environment of the servers and of the tests' own questions."""
        return {**os.environ, "SLURM_CONF": str(self.conf)}

    def start_controller(self) -> None:
        """Start slurmctld where it does not run, and wait until it answers."""
        if self.daemons.is_running("slurmctld"):
            return
        self.daemons.start("slurmctld", ("slurmctld", "-D"), self.env())
        self._await("slurmctld", lambda: self._works("scontrol", "ping"))

    def stop_controller(self) -> None:
        """Stop it as an administrator would: it saves what it knows of its jobs."""
        self._controller_was_away = True
        self.daemons.stop("slurmctld")

    def kill_controller(self) -> None:
        """kill -9: it loses what it has not saved."""
        self._controller_was_away = True
        self.daemons.stop("slurmctld", signal.SIGKILL)

    def forget_jobs(self) -> None:
        """kill -9 of the controller and the loss of its state: it comes back knowing no job."""
        self.kill_controller()
        shutil.rmtree(self.root / "state")
        (self.root / "state").mkdir()
        self.start_controller()

    def save_state(self) -> None:
        """Keep what the controller knows of its jobs. A running controller writes that only every few seconds."""
        self.stop_controller()
        shutil.copytree(self.root / "state", self.root / "state.kept", dirs_exist_ok=True)
        self.start_controller()
        self._renew_nodes()

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
        if self._controller_was_away:
            self._renew_nodes()
        for n in range(1, NODES + 1):
            self.start_node(n)
        if self.ask("squeue", "-h", "-o", "%i"):
            self.cancel_all()
        if not self._is_ready():
            self._await("slurmd-n1", self._is_mended)

    def told(self) -> str:
        """Its nodes and jobs, as its own commands show them."""
        asks = (("sinfo", "-N", "-l"), ("squeue", "-t", "all", "-o", "%i %T %r %N %j"))
        answers = [subprocess.run(ask, env=self.env(), capture_output=True, text=True, check=False) for ask in asks]
        return "".join(f"{answer.stdout}{answer.stderr}" for answer in answers)

    def resume_nodes(self) -> None:
        """As an administrator would: Slurm drains a node on which a job did not start, as one whose number it had
        given out before it lost the other. It resumes those that are drained, and complains about the others."""
        self._works("scontrol", "update", f"NodeName=n[1-{NODES}]", "State=RESUME")

    def register_nodes(self) -> None:
        """Have every node say which jobs it runs. By itself Slurm asks at every 20th ping, each 200 s here.

        A node that is killed and comes back within `BatchStartTimeout` of a job's start, 10 s, says it too early: until
        it is asked again, Slurm believes that the lost job runs.
        """
        self.ask("scontrol", "reconfigure")

    def cancel_all(self) -> None:
        """Ends every job, at once, and waits for that."""
        for options in (("--signal=KILL", "--full"), ()):
            argv = ("scancel", "--me", *options)
            subprocess.run(argv, env=self.env(), capture_output=True, timeout=PATIENCE_SECONDS, check=False)
        wait_until(lambda: not self.ask("squeue", "-h", "-o", "%i"), "every Slurm job to end", details=self.told)

    def _renew_nodes(self) -> None:
        """Start every slurmd again. One that goes on is asked only seconds after the controller has come back, takes a
        job that was lost for one that runs still, and refuses the next job of its number."""
        for n in range(1, NODES + 1):
            self.kill_node(n)
            self.start_node(n)
        self._controller_was_away = False

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
        for conf, seconds in ((self.impatient_conf, IMPATIENT_SECONDS), (self.conf, PATIENT_SECONDS)):
            conf.write_text(slurm_conf(self.root, ports, self.accounting, seconds))

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
