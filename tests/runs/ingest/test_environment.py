"""An attempt's reported environment is stored with it: that of its newest start, unchanged, within limits."""

from dataclasses import replace

import pytest

from runs.ingest import ingest, refusal
from runs.models import Attempt, AttemptEvent, PackageSet
from tests.cases import each_case
from tests.runs.attempt_records import lines, make_attempt, make_run
from workers.records import Environment, Gpu

NODE = Environment(
    "node7", "Debian GNU/Linux 12, Linux 6.1", "CPython 3.11.7", "EPYC", 8, 64_000, "550.54.15", "12.4", "ab" * 32,
    (Gpu("NVIDIA H100", 81_920, "GPU-a"),), {"torch": "2.9.1"},
)  # fmt: skip


@pytest.fixture
def attempt(experiment):
    return make_attempt(make_run(experiment))


def keep(attempt, *written, epoch=0):
    ingest(attempt, epoch, lines(written), offset=1)
    environment = Attempt.objects.get(pk=attempt.pk).environment
    return environment and {**environment, "packages": PackageSet.objects.get(pk=environment["packages"]).versions}


def test_environment_is_stored_unchanged(attempt):
    assert keep(attempt, NODE) == {
        "epoch": 0, "node": "node7", "os": "Debian GNU/Linux 12, Linux 6.1", "python": "CPython 3.11.7", "cpu": "EPYC",
        "cores": 8, "memory_mb": 64_000, "driver": "550.54.15", "cuda": "12.4", "code": "ab" * 32,
        "gpus": [{"name": "NVIDIA H100", "memory_mb": 81_920, "uuid": "GPU-a"}], "packages": {"torch": "2.9.1"},
    }  # fmt: skip


def test_environment_of_the_newest_start_is_retained(attempt):
    assert keep(attempt, NODE, epoch=1)["node"] == "node7"
    assert keep(attempt, replace(NODE, node="node8"), epoch=2)["node"] == "node8"
    assert keep(attempt, replace(NODE, node="node6"), epoch=0)["node"] == "node8"


def test_attempts_with_the_same_packages_share_them(attempt):
    keep(attempt, NODE)
    keep(make_attempt(make_run(attempt.run.experiment, "es 1")), replace(NODE, node="node8"))
    keep(make_attempt(make_run(attempt.run.experiment, "es 2")), replace(NODE, packages={"torch": "2.10.0"}))
    assert sorted(row.versions["torch"] for row in PackageSet.objects.all()) == ["2.10.0", "2.9.1"]


def test_unstorable_characters_are_displayed(attempt):
    stored = keep(attempt, replace(NODE, cpu="\x00<b>", packages={"a\x00": "1\ud800"}))
    assert (stored["cpu"], stored["packages"]) == ("\ufffd<b>", {"a\ufffd": "1\ufffd"})


@each_case(
    ("change", "words"),
    [
        ({"packages": {f"p{n}": "1" for n in range(5001)}}, "has 5001 packages; at most 5000"),
        ({"gpus": (Gpu("g", 1),) * 65}, "has 65 GPUs; at most 64"),
        ({"node": "n" * 301}, "at most 300 characters"),
        ({"gpus": (Gpu("g", 1, "u" * 301),)}, "at most 300 characters"),
        ({"packages": {"p": "1" * 301}}, "at most 300 characters"),
        ({"cores": -1}, "must be between 0"),
        ({"memory_mb": 2**63}, "must be between 0"),
    ],
)
def test_environment_beyond_a_limit_is_refused(attempt, change, words):
    (line,) = lines([replace(NODE, **change)])
    assert words in refusal(line)
    assert keep(attempt, line.record) is None
    assert words in AttemptEvent.objects.get().why
