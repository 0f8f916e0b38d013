"""Meanings of sbatch when it submits no job. The texts are those of Slurm 22.05 to 25.11 and of sites' plug-ins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases import each_case
from workers.executors.slurm.refusals import Meaning, read_refusal
from workers.executors.states import Obstacle

CASES = Path(__file__).parents[3].parent / "shared/data/cases-3/submit-limit/expected.json"
POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
FULL = "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"
FOREVER, PERHAPS, UNKNOWN = (Meaning.FOREVER, None), (Meaning.PERHAPS, None), (Meaning.UNKNOWN, None)
ROOM, CLUSTER, UNCLEAR = ((Meaning.FOR_NOW, obstacle) for obstacle in Obstacle)
ERRORS = {
    FOREVER: (
        "Invalid partition name specified", "No partition specified or system default partition",
        "Access/permission denied", "User's group not permitted to use this partition",
        "More processors requested than permitted",
        "Node count specification invalid", "Job size specification needs to be provided",
        "Pathname of a file, directory or other parameter too long", "Requested node configuration is not available",
        "Invalid account or account/partition combination specified", "Invalid qos specification",
        "Requested time limit is invalid (missing or exceeds some limit)", "Invalid job array specification",
        "Invalid generic resource (gres) specification", "Invalid feature specification",
        "Memory required by task is not available", "CPU count specification invalid",
        "Job cannot be submitted without the current working directory specified.",
    ),
    ROOM: (
        "MaxJobCount limit reached", "Resource temporarily unavailable", "Unable to create job record, try again",
    ),
    CLUSTER: (
        "Disk quota exceeded", "No space left on device", "I/O error writing script/environment to file",
        "Read-only file system", "Required node not available (down, drained or reserved)", "Requested nodes are busy",
        "Required partition not available (inactive or drain)", "Partition in DOWN state",
        "System submissions disabled", "Requested operation is presently disabled",
        "Rate limit exceeded, please retry momentarily", "Rate limit exceeded, please retry later",
        "Job can not start due to maintenance reservation.", "Requested reservation not usable now",
        "Licenses currently unavailable", "Requested account has breached requested QOS usage threshold",
        "Max powered up nodes reached",
    ),
    UNCLEAR: (POLICY, "Requested partition configuration not available now"),
    UNKNOWN: (
        "Unable to contact slurm controller (connect failure)", "Unable to contact slurm controller (send failure)",
        "Socket timed out on send/recv operation", "Zero Bytes were transmitted or received",
        "Unexpected message received", "Message receive failure", "Communication connection failure",
        "Connection timed out reading", "Connection refused", "Connection reset by peer", "No route to host",
        "Protocol authentication error", "Invalid authentication credential", "Insane message length",
        "Incompatible versions of client and server code", "Slurm backup controller in standby mode",
        "Controller is in standby mode, try a different controller", "Unable to connect to database",
        "Unexpected missing socket error", "Header lengths are longer than data received",
        "Process is shutting down and closing all communications", "Interrupted system call",
    ),
    PERHAPS: (
        "Unspecified error", "Unknown error 2999", "Slurm internal error, contact system administrator",
        "Job dependency problem", "Requested nodes not in this partition",
    ),
}  # fmt: skip


@each_case(
    ("expected", "error", "start"),
    [
        (expected, error, start)
        for expected, errors in ERRORS.items()
        for error in errors
        for start in ("sbatch: error: Batch job submission failed: ", "allocation failure: ")
    ],
)
def test_error_of_the_request_decides(expected: tuple[Meaning, Obstacle | None], error: str, start: str) -> None:
    refusal = read_refusal(f"{start}{error}\n")
    assert (refusal.meaning, refusal.obstacle) == expected
    is_stated = expected in (ROOM, CLUSTER, UNKNOWN)
    assert refusal.words == (error if is_stated else f"{start.removeprefix('sbatch: error: ')}{error}")
    assert bool(refusal.cause) == (is_stated or expected == UNCLEAR)
    if refusal.cause:
        assert str(refusal) == f"{refusal.cause} (Slurm: {refusal.words})"


def refused(*lines: str) -> str:
    """Return the error output of sbatch, with the usual beginning of each line."""
    return "".join(f"sbatch: error: {line}\n" for line in lines)


def failed(error: str, *before: str) -> str:
    """Return the error output of an sbatch whose request failed."""
    return refused(*before, f"Batch job submission failed: {error}")


@each_case(
    ("expected", "text"),
    [
        *((ROOM, failed(POLICY, word)) for word in (
            "QOSMaxSubmitJobPerUserLimit", "AssocMaxSubmitJobLimit", "AssocGrpSubmitJobsLimit",
            "QOSGrpSubmitJobsLimit", "MaxSubmitJobsPerAccount",
        )),
        *((FOREVER, failed(POLICY, word)) for word in (
            "QOSMaxWallDurationPerJobLimit", "AssocMaxCpuPerJobLimit", "QOSMaxGRESPerUser", "AssocGrpCpuLimit",
            "MaxGRESPerAccount",
        )),
        (UNCLEAR, failed(POLICY, "Your project has no hours left")),
        (ROOM, f"{FULL}{failed('Resource temporarily unavailable')}"),
        (UNKNOWN, f"{FULL}{failed('Socket timed out on send/recv operation')}"),
        # The words of a plug-in decide nothing, whatever they mention.
        (PERHAPS, failed("Unspecified error", "Connection to the project database timed out, try again")),
        (PERHAPS, failed("Unspecified error", "Invalid project; disk quota exceeded")),
        (PERHAPS, failed("Unspecified error", "You must always specify a type when requesting gpu GRES")),
        (FOREVER, failed("Invalid account or account/partition combination specified", "Unable to contact the bank")),
    ],
)  # fmt: skip
def test_other_lines_only_name_a_limit(expected: tuple[Meaning, Obstacle | None], text: str) -> None:
    refusal = read_refusal(text)
    assert (refusal.meaning, refusal.obstacle) == expected


@each_case(
    ("expected", "text"),
    [
        ((Meaning.UNKNOWN, Obstacle.ROOM), FULL),
        (CLUSTER, refused("Unable to write /scratch/job.sh: Disk quota exceeded")),
        (FOREVER, refused("Memory specification can not be satisfied")),
        (FOREVER, refused("Invalid --time specification")),
        (FOREVER, "sbatch: unrecognized option '--nosuch'\nTry \"sbatch --help\" for more information\n"),
        (UNKNOWN, "sbatch: fatal: Unable to process configuration file\n"),
        (
            UNKNOWN,
            refused("resolve_ctls_from_dns_srv: res_nsearch error: Unknown host", "fetch_config: DNS SRV lookup"),
        ),
        (UNKNOWN, refused("If munged is up, restart with --num-threads=10", "Munge encode failed: Failed to access")),
        (UNKNOWN, refused("slurm_receive_msg: Zero Bytes were transmitted or received")),
        (PERHAPS, refused("Connection to the VPN is needed, try again", "cli_filter plugin terminated with error")),
        (PERHAPS, "Please read https://hpc.example.org/first\n"),
        (UNKNOWN, ""),
    ],
)
def test_message_without_an_error_of_the_request_is_read(expected: tuple[Meaning, Obstacle | None], text: str) -> None:
    refusal = read_refusal(text)
    assert (refusal.meaning, refusal.obstacle) == expected


def test_public_cases_wait() -> None:
    if not CASES.exists():
        pytest.skip(f"{CASES} is not on this machine")
    expected = json.loads(CASES.read_text())
    assert read_refusal(failed("Unspecified error", "Please give an account")).meaning == Meaning.PERHAPS
    for word in expected.keys() - {"unspecified"}:
        refusal = read_refusal(failed(POLICY, word))
        assert (refusal.meaning, refusal.obstacle) == ROOM and refusal.words == word


def test_words_are_one_line_of_limited_length() -> None:
    text = failed("Invalid partition name specified", "invalid partition specified: x")
    assert str(read_refusal(text)) == (
        "invalid partition specified: x; Batch job submission failed: Invalid partition name specified"
    )
    assert len(read_refusal(refused(*["Invalid"] * 999)).words) == 600
