"""Why a job waits: Slurm's word for it -> a sentence, and whether waiting will ever help.

Words: https://slurm.schedmd.com/job_reason_codes.html
"""

from __future__ import annotations

HOPELESS = "will not start"
WAITS = {
    "None": "waiting for Slurm to look at it",
    "Priority": "waiting: other jobs go before it",
    "Resources": "waiting: it is next, once enough cores, memory and GPUs are free",
    "Dependency": "waiting: an older job of the same name has not ended",
    "BeginTime": "waiting: it may start a little later, as after a requeue",
    "JobArrayTaskLimit": "waiting: so many of its array run already",
    "Licenses": "waiting for a licence",
    "Reservation": "waiting for its reservation to begin",
    "PartitionDown": "waiting: its partition is down, until an administrator of the cluster puts it up",
    "PartitionInactive": "waiting: its partition is inactive, until an administrator of the cluster activates it",
    "NodeDown": "waiting: a node that it needs is down",
    "ReqNodeNotAvail": "waiting: nodes that it needs are down, drained or reserved",
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": (
        "waiting: nodes that it needs are down, drained or reserved for jobs that go before it"
    ),
}
NEVER = {
    "PartitionConfig": "no node of its partition has so many cores, GPUs or so much memory",
    "PartitionNodeLimit": "it asks for more nodes than its partition gives one job",
    "PartitionTimeLimit": "it asks for more time than its partition gives (compute.time_limit_seconds)",
    "BadConstraints": "no node has what it asks for",
    "DependencyNeverSatisfied": "a job that it depends on can no longer succeed",
    "InvalidAccount": "its account is not known, or may not be used (account in the cluster's config)",
    "InvalidQOS": "its QOS is not known, or may not be used (qos in the cluster's config)",
    "AccountNotAllowed": "its account may not use its partition",
    "QOSNotAllowed": "its QOS may not use its partition",
    "JobHeldUser": "it is held by its owner, until `scontrol release`",
    "JobHeldAdmin": "it is held by an administrator of the cluster, until they release it",
    "launch failed requeued held": "it did not start on its node and is held, until `scontrol release`",
    "job requeued in held state": "it was requeued and is held, until `scontrol release`",
}
LIMITS = {
    "AssocGrp": "waiting: its account uses all that it may at one time",
    "QOSGrp": "waiting: its QOS uses all that it may at one time",
    "AssocMaxJobs": "waiting: its account runs as many jobs as it may at one time",
    "QOSMaxJobs": "waiting: as many jobs run as its QOS allows at one time",
    "QOSMaxCpuPerUser": "waiting: as many cores are used as its QOS allows one person",
    "QOSMaxGRESPerUser": "waiting: as many GPUs are used as its QOS allows one person",
    "AssocMax": f"{HOPELESS}: it asks for more than its account may use for one job",
    "QOSMax": f"{HOPELESS}: it asks for more than its QOS allows one job",
    "MaxCpuPerAccount": "waiting: its account uses as many cores as it may",
    "MaxGRESPerAccount": "waiting: its account uses as many GPUs as it may",
}
"""By how the word begins; the first that fits."""


def never_starts(reason: str) -> bool:
    """True where waiting will not help."""
    return in_words(reason).startswith(HOPELESS)


def in_words(reason: str) -> str:
    """The sentence, with Slurm's own word behind it."""
    word = reason.partition(",")[0].strip("() ") if reason.startswith("ReqNodeNotAvail") else reason.strip("() ")
    if word in NEVER:
        return f"{HOPELESS}: {NEVER[word]} (Slurm: {reason})"
    said = WAITS.get(word) or next((s for start, s in LIMITS.items() if word.startswith(start)), "waiting")
    return f"{said} (Slurm: {reason or 'no reason'})"
