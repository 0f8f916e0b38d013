"""The texts of Slurm's configuration files: one machine as controller and all nodes, with short timeouts."""

from __future__ import annotations

import shutil
import socket
from dataclasses import dataclass
from pathlib import Path

from tests.free_ports import unused_port

NODES, GPUS, CORES, MEMORY_MB = 3, 2, 4, 4000
MAX_JOBS = 2000
REFUSED_ACCOUNT, REFUSAL = "spent", "Project spent has no hours left, try again in the next quarter"
GPU_TYPES = ("a100", "a100", "h100")
"""Type of the GPUs of each node."""
GPU_SHARDS = {"a100": 8}
"""Type of GPU -> shards of all GPUs of a node with that type. The others are not divided."""


@dataclass(frozen=True)
class Ports:
    """Ports of the servers, unused when they were chosen."""

    controller: int
    accounting: int
    nodes: tuple[int, ...]

    @classmethod
    def find_free(cls) -> Ports:
        """Return free ports, also for servers that a test kills and restarts."""
        return cls(unused_port(), unused_port(), tuple(unused_port() for _ in range(NODES)))


def slurm_conf(root: Path, ports: Ports, accounting: bool, message_seconds: int) -> str:
    """Return slurm.conf. `high` preempts `low` immediately and `lowgrace` after five seconds.

    message_seconds: the time that clients and servers wait for each other's replies.
    """
    host = socket.gethostname().partition(".")[0]
    node = f"NodeHostname={host} NodeAddr=127.0.0.1"
    return "\n".join(
        [
            *_identity_lines(root, ports, host),
            *_timing_lines(),
            f"MessageTimeout={message_seconds}",
            *(_accounting_lines(root, ports) if accounting else ["AccountingStorageType=accounting_storage/none"]),
            f"NodeName=DEFAULT CPUs={CORES} Boards=1 SocketsPerBoard=1 CoresPerSocket={CORES} ThreadsPerCore=1 "
            f"RealMemory={MEMORY_MB} State=UNKNOWN",
            *(
                f"NodeName=n{i} {node} Port={port} Gres={_resources(GPU_TYPES[i - 1])}"
                for i, port in enumerate(ports.nodes, 1)
            ),
            f"PartitionName=DEFAULT Nodes=n[1-{NODES}] MaxTime=INFINITE DefaultTime=60 State=UP",
            "PartitionName=main Default=YES PriorityTier=10 PreemptMode=OFF",
            "PartitionName=short PriorityTier=10 PreemptMode=OFF MaxTime=60",
            "PartitionName=low PriorityTier=1 PreemptMode=REQUEUE GraceTime=0",
            "PartitionName=lowgrace PriorityTier=1 PreemptMode=REQUEUE GraceTime=5",
            "PartitionName=high PriorityTier=100 PreemptMode=OFF",
            "",
        ]
    )


def gres_conf(root: Path) -> str:
    """Return gres.conf: Slurm needs device files, so these are copies of /dev/null."""
    return "".join(
        f"NodeName=n{n} Name=gpu Type={name} File={root}/gpu[0-{GPUS - 1}]\n"
        + (f"NodeName=n{n} Name=shard Count={GPU_SHARDS[name]}\n" if name in GPU_SHARDS else "")
        for n, name in enumerate(GPU_TYPES, 1)
    )


def _resources(gpu_type: str) -> str:
    """Return the Gres of a node. Slurm gives the shards the type of their GPUs."""
    shards = f",shard:{GPU_SHARDS[gpu_type]}" if gpu_type in GPU_SHARDS else ""
    return f"gpu:{gpu_type}:{GPUS}{shards}"


def job_submit_lua() -> str:
    """Return the script of Slurm's job_submit plug-in: it refuses jobs of one account in its own words."""
    return "\n".join(
        [
            "function slurm_job_submit(job, partitions, uid)",
            f'  if job.account == "{REFUSED_ACCOUNT}" then',
            f'    slurm.log_user("{REFUSAL}")',
            "    return slurm.ERROR",
            "  end",
            "  return slurm.SUCCESS",
            "end",
            "function slurm_job_modify(job, record, partitions, uid) return slurm.SUCCESS end",
            "return slurm.SUCCESS",
            "",
        ]
    )


def has_lua_plugin() -> bool:
    """Return whether Slurm's plug-in that runs such a script is installed."""
    return any(Path("/usr/lib").glob("*/slurm-wlm/job_submit_lua.so"))


def slurmdbd_conf(root: Path, ports: Ports) -> str:
    """Return slurmdbd.conf, for the database that listens at a socket in the same folder."""
    return "\n".join(
        [
            "AuthType=auth/munge",
            f"AuthInfo=socket={root}/munge.sock",
            "DbdHost=localhost",
            "DbdAddr=127.0.0.1",
            f"DbdPort={ports.accounting}",
            "SlurmUser=root",
            f"PidFile={root}/slurmdbd.pid",
            "StorageType=accounting_storage/mysql",
            "StorageHost=localhost",
            "StorageUser=slurm",
            "StoragePass=slurm",
            "StorageLoc=slurm_acct_db",
            "",
        ]
    )


def _identity_lines(root: Path, ports: Ports, host: str) -> list[str]:
    return [
        "ClusterName=test",
        f"SlurmctldHost={host}(127.0.0.1)",
        "SlurmUser=root",
        "SlurmdUser=root",
        "AuthType=auth/munge",
        f"AuthInfo=socket={root}/munge.sock,cred_expire=5",
        "CredType=cred/munge",
        f"SlurmctldPort={ports.controller}",
        f"SlurmctldPidFile={root}/slurmctld.pid",
        f"SlurmdPidFile={root}/slurmd-%n.pid",
        f"StateSaveLocation={root}/state",
        f"SlurmdSpoolDir={root}/spool/%n",
        "SlurmdParameters=config_overrides",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "SwitchType=switch/none",
        "MpiDefault=none",
        "GresTypes=gpu,shard",
        f"RebootProgram={shutil.which('true')}",
    ]


def _timing_lines() -> list[str]:
    return [
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        "SchedulerType=sched/backfill",
        # Jobs in one pass: as many as any test has waiting.
        "SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0,sched_min_interval=0,"
        "default_queue_depth=1000,bf_max_job_test=1000",
        "JobAcctGatherType=jobacct_gather/linux",
        "JobAcctGatherFrequency=5",
        "MinJobAge=300",
        # From SIGTERM to SIGKILL: on a busy machine a program needs some of it to save its checkpoint.
        "KillWait=10",
        "OverTimeLimit=0",
        "UnkillableStepTimeout=60",
        "SlurmctldTimeout=10",
        # A job whose end a killed controller forgot is missed after a few such intervals; a node of a busy machine
        # must not be declared lost meanwhile.
        "SlurmdTimeout=30",
        "InactiveLimit=0",
        "ReturnToService=2",
        "JobRequeue=1",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=REQUEUE",
        f"MaxJobCount={MAX_JOBS}",
        *(["JobSubmitPlugins=lua"] if has_lua_plugin() else []),
    ]


def _accounting_lines(root: Path, ports: Ports) -> list[str]:
    return [
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=127.0.0.1",
        f"AccountingStoragePort={ports.accounting}",
        f"AccountingStoragePass={root}/munge.sock",
        "AccountingStoreFlags=job_comment,job_env,job_script",
        "AccountingStorageEnforce=associations,limits,qos",
    ]
