"""Reasons of waiting jobs: Slurm's word -> a sentence, which also shows if waiting will ever help.

Words: https://slurm.schedmd.com/job_reason_codes.html
"""

from __future__ import annotations

import re

HOPELESS = "will not start"
WAITS = {
    "None": "waiting for Slurm to consider it",
    "Priority": "waiting: other jobs have priority",
    "Resources": "waiting: it is next, once enough cores, memory and GPUs are free",
    "Dependency": "waiting: an older job of the same name has not finished",
    "BeginTime": "waiting: it may start a little later, as after a requeue",
    "JobArrayTaskLimit": "waiting: its array's limit of running jobs is reached",
    "Licenses": "waiting for a licence",
    "Reservation": "waiting for its reservation to start",
    "PartitionDown": "waiting: its partition is down, until an administrator of the cluster brings it up",
    "PartitionInactive": "waiting: its partition is inactive, until an administrator of the cluster activates it",
    "NodeDown": "waiting: a node that it needs is down",
    "ReqNodeNotAvail": "waiting: nodes that it needs are down, drained or reserved",
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": (
        "waiting: nodes that it needs are down, drained or reserved for jobs with higher priority"
    ),
}
NEVER = {
    "PartitionConfig": "no node of its partition has enough cores, GPUs or memory",
    "PartitionNodeLimit": "it requests more nodes than its partition allows one job",
    "PartitionTimeLimit": "it requests more time than its partition allows (compute.time_limit_seconds)",
    "BadConstraints": "no node has what it requests",
    "DependencyNeverSatisfied": "a job that it depends on can no longer succeed",
    "InvalidAccount": "its account is unknown or not allowed (account in the cluster's config)",
    "InvalidQOS": "its QOS is unknown or not allowed (qos in the cluster's config)",
    "AccountNotAllowed": "its account may not use its partition",
    "QOSNotAllowed": "its QOS may not use its partition",
    "JobHeldUser": "it is held by its owner, until `scontrol release`",
    "JobHeldAdmin": "it is held by an administrator of the cluster, until they release it",
    "launch failed requeued held": "it did not start on its node and is held, until `scontrol release`",
    "JobHoldMaxRequeue": "it was requeued too often and is held, until `scontrol release`",
    "ReservationDeleted": "its reservation was deleted",
    "job requeued in held state": "it was requeued and is held, until `scontrol release`",
}
LIMITS = (
    (r"(?:AssocGrp|AssocMax|QOSGrp|QOSMax|Max)Submit", "waiting: the limit of submitted jobs is reached"),
    (r"AssocGrp", "waiting: its account's limit of resources in use is reached"),
    (r"QOSGrp", "waiting: its QOS's limit of resources in use is reached"),
    (r"AssocMaxJobs|AssociationJobLimit", "waiting: its account's limit of running jobs is reached"),
    (r"QOSMaxJobs|QOSJobLimit", "waiting: its QOS's limit of running jobs is reached"),
    (r"QOSMaxCpuPerUser", "waiting: its QOS's limit of cores per user is reached"),
    (r"QOSMaxGRESPerUser", "waiting: its QOS's limit of GPUs per user is reached"),
    (r"QOSMax\w+PerUser", "waiting: its QOS's limit of resources per user is reached"),
    (r"MaxCpuPerAccount", "waiting: its account's limit of cores is reached"),
    (r"MaxGRESPerAccount", "waiting: its account's limit of GPUs is reached"),
    (r"Max\w+PerAccount", "waiting: its QOS's limit of resources per account is reached"),
    (r"QOSUsageThreshold", "waiting: its account has used up its share under this QOS"),
    (r"AssocMax", f"{HOPELESS}: it requests more than its account allows one job"),
    (r"QOSMax", f"{HOPELESS}: it requests more than its QOS allows one job"),
    (r"QOSMin", f"{HOPELESS}: it requests less than its QOS requires of a job"),
    (r"MaxMemPerLimit", f"{HOPELESS}: it requests more memory than its partition allows (compute.memory_mb)"),
)
"""Sentences by the beginning of Slurm's word; the first match counts. What is in use ends, and what one job requests
does not."""


def never_starts(reason: str) -> bool:
    """Return whether waiting will not help."""
    return describe_reason(reason).startswith(HOPELESS)


def describe_reason(reason: str) -> str:
    """Return the sentence, with Slurm's own word behind it."""
    word = reason.partition(",")[0].strip("() ") if reason.startswith("ReqNodeNotAvail") else reason.strip("() ")
    if word in NEVER:
        return f"{HOPELESS}: {NEVER[word]} (Slurm: {reason})"
    text = WAITS.get(word) or next((s for start, s in LIMITS if re.match(start, word)), "waiting")
    return f"{text} (Slurm: {reason or 'no reason'})"
