"""Start a Slurm cluster, break parts of it, and stop it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.clusters.slurm.config import (
    GPUS,
    MAX_JOBS,
    NODES,
    Ports,
    gres_conf,
    job_submit_lua,
    slurm_conf,
    slurmdbd_conf,
)
from tests.clusters.slurm.daemons import Daemons, kill_processes_with
from tests.tools import not_installed
from tests.waiting import PATIENCE_SECONDS, wait_until

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "munged")
ACCOUNTING_PROGRAMS = ("slurmdbd", "sacctmgr", "sacct", "mariadbd", "mariadb-install-db")
PATIENT_SECONDS, IMPATIENT_SECONDS = 60, 1
"""MessageTimeout of the servers and their clients, and of clients of a controller that a test has made silent."""
NULL = (1, 3)
"""Major and minor number of /dev/null."""


def missing(accounting: bool = False) -> str:
    """Return why no cluster can be started here; empty if one can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a Slurm of one's own needs Linux and root"
    programs = PROGRAMS + (ACCOUNTING_PROGRAMS if accounting else ())
    absent = [name for name in programs if shutil.which(name) is None]
    return not_installed("Slurm", f" (no {', '.join(absent)})") if absent else ""


class SlurmCluster:
    """A cluster of three nodes, n1 to n3, with four cores and two fake GPUs each, which Slurm divides into shards
    on n1 and n2. All its files are under `root`."""

    def __init__(self, root: Path, accounting: bool = False) -> None:
        self.root, self.accounting = root, accounting
        self.conf, self.impatient_conf = root / "slurm.conf", root / "impatient.conf"
        self.daemons = Daemons(root)
        self._controller_was_stopped = False

    def up(self) -> None:
        """Start all servers that do not run yet, and wait until all nodes are idle."""
        self._write()
        socket, log = self.root / "munge.sock", self.root / "munge"
        files = (f"--key-file={log}/key", f"--pid-file={log}/pid", f"--log-file={log}/log", f"--seed-file={log}/seed")
        self.daemons.start("munged", ("munged", "--foreground", "--force", f"--socket={socket}", *files))
        self._wait_for("munged", lambda: self._succeeds("munge", "-n", f"--socket={socket}"))
        if self.accounting:
            self._start_accounting()
        self.start_controller()
        for n in range(1, NODES + 1):
            self.start_node(n)
        self._wait_for("slurmd-n1", self._is_ready)

    def down(self) -> None:
        """End every job, then every server and processes of lost jobs, and remove the folder."""
        if self.daemons.is_running("slurmctld"):
            self.daemons.send("slurmctld", signal.SIGCONT)
            self.cancel_all()
        for name in sorted(self.daemons.names(), key=_stop_order):
            self.daemons.stop(name, signal.SIGKILL)
        for conf in (self.conf, self.impatient_conf):
            kill_processes_with(f"SLURM_CONF={conf}")
        shutil.rmtree(self.root, ignore_errors=True)

    def ask(self, *argv: str, text: str = "") -> str:
        """Run a client of Slurm with `text` as input and return its output. Raise CalledProcessError if it fails."""
        result = subprocess.run(
            argv, env=self.env(), input=text, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
        )
        return result.stdout

    def env(self) -> dict[str, str]:
        """Return the environment of the servers and of the tests' own commands."""
        return {**os.environ, "SLURM_CONF": str(self.conf)}

    def start_controller(self) -> None:
        """Start slurmctld if it does not run, and wait until it answers."""
        if self.daemons.is_running("slurmctld"):
            return
        self.daemons.start("slurmctld", ("slurmctld", "-D"), self.env())
        self._wait_for("slurmctld", lambda: self._succeeds("scontrol", "ping"))

    def stop_controller(self) -> None:
        """Stop the controller as an administrator would: it saves the state of its jobs."""
        self._controller_was_stopped = True
        self.daemons.stop("slurmctld")

    def kill_controller(self) -> None:
        """Send SIGKILL to the controller: it loses the state that it has not saved."""
        self._controller_was_stopped = True
        self.daemons.stop("slurmctld", signal.SIGKILL)

    def forget_jobs(self) -> None:
        """Send SIGKILL to the controller, delete its state and start it: it then knows no job."""
        self.kill_controller()
        shutil.rmtree(self.root / "state")
        (self.root / "state").mkdir()
        self.start_controller()

    def save_state(self) -> None:
        """Save the controller's state of its jobs. A running controller writes it only every few seconds."""
        self.stop_controller()
        shutil.copytree(self.root / "state", self.root / "state.kept", dirs_exist_ok=True)
        self.start_controller()
        self._renew_nodes()

    def restore_state(self) -> None:
        """Send SIGKILL to the controller and start it with the saved state: later jobs are lost."""
        self.kill_controller()
        shutil.rmtree(self.root / "state")
        (self.root / "state.kept").rename(self.root / "state")
        self.start_controller()

    def start_node(self, n: int) -> None:
        """Start the slurmd of a node."""
        (self.root / "spool" / f"n{n}").mkdir(parents=True, exist_ok=True)
        self.daemons.start(f"slurmd-n{n}", ("slurmd", "-D", "-N", f"n{n}"), self.env())

    def kill_node(self, n: int) -> None:
        """Send SIGKILL to the slurmd of a node; its jobs continue."""
        self.daemons.stop(f"slurmd-n{n}", signal.SIGKILL)

    def lose_node(self, n: int) -> None:
        """Kill a node's slurmd and mark the node down, as after the controller's timeout for a silent node."""
        self.kill_node(n)
        self.ask("scontrol", "update", f"NodeName=n{n}", "State=DOWN", "Reason=test")

    def repair(self) -> None:
        """Restart the servers that a test has broken, and end its jobs."""
        self.daemons.send("slurmctld", signal.SIGCONT)
        self.start_controller()
        if self._controller_was_stopped:
            self._renew_nodes()
        for n in range(1, NODES + 1):
            self.start_node(n)
        if self.ask("squeue", "-h", "-o", "%i"):
            self.cancel_all()
        if not self._is_ready():
            self._wait_for("slurmd-n1", self._is_repaired)

    def describe(self) -> str:
        """Return nodes and jobs, as Slurm's own commands show them."""
        commands = (("sinfo", "-N", "-l"), ("squeue", "-t", "all", "-o", "%i %T %r %N %j"))
        results = [
            subprocess.run(command, env=self.env(), capture_output=True, text=True, check=False) for command in commands
        ]
        return "".join(f"{result.stdout}{result.stderr}" for result in results)

    def resume_nodes(self) -> None:
        """Resume drained nodes, as an administrator would.

        Slurm drains a node on which a job did not start, for example a job with the number of a lost one. The command
        resumes drained nodes, and reports an error for the others.
        """
        self._succeeds("scontrol", "update", f"NodeName=n[1-{NODES}]", "State=RESUME")

    def set_max_jobs(self, number: int = MAX_JOBS) -> None:
        """Set the number of jobs that the controller stores, ended ones included. At the number, it takes no more."""
        conf = self.conf.read_text()
        self.conf.write_text(re.sub(r"MaxJobCount=\d+", f"MaxJobCount={number}", conf))
        self.ask("scontrol", "reconfigure")

    def register_nodes(self) -> None:
        """Let every node report its running jobs. Otherwise Slurm requests that at every 20th ping, each 200 s here.

        A node that is killed and returns within `BatchStartTimeout` of a job's start, 10 s, reports too early: until
        the next request, Slurm believes that the lost job runs.
        """
        self.ask("scontrol", "reconfigure")

    def cancel_all(self) -> None:
        """Kill every job immediately, and wait for the end of all."""
        for options in (("--signal=KILL", "--full"), ()):
            argv = ("scancel", "--me", *options)
            subprocess.run(argv, env=self.env(), capture_output=True, timeout=PATIENCE_SECONDS, check=False)
        wait_until(lambda: not self.ask("squeue", "-h", "-o", "%i"), "every Slurm job to end", details=self.describe)

    def _renew_nodes(self) -> None:
        """Restart every slurmd.

        A slurmd that continues is queried only seconds after the controller's return, reports a lost job as still
        running, and refuses the next job of its number.
        """
        for n in range(1, NODES + 1):
            self.kill_node(n)
            self.start_node(n)
        self._controller_was_stopped = False

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
        ports = Ports.find_free()
        (self.root / "gres.conf").write_text(gres_conf(self.root))
        (self.root / "job_submit.lua").write_text(job_submit_lua())
        (self.root / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        accounting_conf = self.root / "slurmdbd.conf"
        accounting_conf.write_text(slurmdbd_conf(self.root, ports))
        accounting_conf.chmod(0o600)
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
        self._wait_for("mariadbd", lambda: self._succeeds("mariadb", "--no-defaults", "-S", str(socket), "-e", sql))
        self.daemons.start("slurmdbd", ("slurmdbd", "-D", "-s"), {**self.env(), "MYSQL_UNIX_PORT": str(socket)})
        self._wait_for("slurmdbd", lambda: self._succeeds("sacctmgr", "-n", "show", "cluster"))
        for record in (("cluster", "test"), ("account", "lab", "Cluster=test"), ("user", "root", "Account=lab")):
            self._succeeds("sacctmgr", "-i", "add", *record)

    def _is_repaired(self) -> bool:
        self.resume_nodes()
        return self._is_ready()

    def _is_ready(self) -> bool:
        # A controller that has just started, or is overloaded, gives no reply yet.
        with contextlib.suppress(subprocess.SubprocessError):
            idle = self.ask("sinfo", "--noheader", "--Node", "--partition=main", "--format=%T").split()
            return idle == ["idle"] * NODES
        return False

    def _succeeds(self, *argv: str) -> bool:
        result = subprocess.run(argv, env=self.env(), stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return result.returncode == 0

    def _wait_for(self, name: str, is_ready: Callable[[], bool]) -> None:
        wait_until(
            is_ready, f"{name} to be ready", details=lambda: f"{self.daemons.read_log_end(name)}\n{self.describe()}"
        )


def _stop_order(name: str) -> int:
    order = ("slurmd-", "slurmctld", "slurmdbd", "mariadbd", "munged")
    return next(i for i, prefix in enumerate(order) if name.startswith(prefix))
