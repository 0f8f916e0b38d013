"""The environment of an attempt: on the run's page, compared with other runs, in the API, and as files."""

import subprocess
import sys

import pytest
from django.urls import reverse

from runs.access import Scope, link_text
from runs.models import Attempt
from tests.runs.api_client import calls
from tests.runs.attempt_records import make_attempt
from tests.runs.environments import ENVIRONMENT, VERSIONS, report_environment
from tests.runs.full_runs import end, make_run
from workers.code import bundle, fingerprint

pytestmark = pytest.mark.django_db
PINNED = {"sha256": "ab" * 32, "version": "0.1.0", "commit": "12" * 20, "is_dirty": True, "diff_sha256": "ef" * 32}


@pytest.fixture
def run(experiment, runs_dir):
    return make_run(experiment)


def past(client, run):
    return " ".join(client.get(reverse("run-past", args=[run.uid]), HTTP_HX_REQUEST="true").content.decode().split())


def test_attempt_without_environment_shows_nothing(ada_client, run):
    assert "ran-on" not in past(ada_client, run)


def test_page_names_node_code_gpu_and_packages(ada_client, run):
    Attempt.objects.update(code=PINNED)
    report_environment(run.newest_attempt())
    text = past(ada_client, run)
    for text_part in (
        "Ran on node7, 1 × NVIDIA H100", "121212121212 (with changes, abababababab)", "2 packages", "torch 2.9.1",
        "80.0 GB", "GPU-a", "550, up to CUDA 12.4", "EPYC, 8 cores", "62.5 GB", "Debian 12", "CPython 3.11.7",
    ):  # fmt: skip
        assert text_part in text
    assert "did not run the code" not in text


def test_share_of_a_gpu_is_stated(ada_client, run):
    run.config["compute"] |= {"gpus": "auto"}
    run.save()
    report_environment(run.newest_attempt())
    assert "Ran on node7, 1 × NVIDIA H100" in past(ada_client, run)
    run.attempts.update(gpu_share=0.07, gpu_memory_mb=9600)
    text = past(ada_client, run)
    assert "Ran on node7, 0.07 of 1 × NVIDIA H100" in text
    assert "The run has 0.07 of a GPU, which other runs may share: at most 10.1 GB of its memory." in text


def test_node_without_gpu_is_described(ada_client, run):
    report_environment(run.newest_attempt(), gpus=[], driver="", cuda="")
    text = past(ada_client, run)
    assert "Ran on node7, no GPU" in text and "none that NVIDIA's driver reports" in text and "Driver" not in text


def test_environment_changes_of_a_retry_are_described(ada_client, run):
    report_environment(run.newest_attempt())
    end(run, "lost")
    report_environment(make_attempt(run, 2), {**VERSIONS, "torch": "2.10.0"}, node="node8", gpus=[])
    end(run, "failed")
    make_attempt(run, 3)
    assert "Unlike attempt 1: GPUs none instead of 1 × NVIDIA H100; torch 2.10.0 instead of 2.9.1." in past(
        ada_client, run
    )
    assert past(ada_client, run).count("Unlike attempt") == 1


def test_code_other_than_pinned_is_reported(ada_client, run):
    Attempt.objects.update(code={**PINNED, "sha256": "cd" * 32})
    report_environment(run.newest_attempt())
    assert "This attempt did not run the code that it was launched with." in past(ada_client, run)


def test_hostile_words_of_a_node_are_text(ada_client, run):
    report_environment(
        run.newest_attempt(), {"<script>": "1", "torch": "<b>"}, node="<script>alert(1)</script>", cpu="<i>"
    )
    text = past(ada_client, run)
    assert "<script>" not in text and "&lt;script&gt;alert(1)" in text and "torch &lt;b&gt;" in text


def test_the_queries_are_as_many_for_many_attempts(ada_client, run, django_assert_num_queries):
    report_environment(run.newest_attempt())
    with django_assert_num_queries(6) as few:
        past(ada_client, run)
    for n in range(2, 20):
        end(run, "failed")
        report_environment(make_attempt(run, n), {**VERSIONS, "numpy": f"2.{n}"})
    with django_assert_num_queries(len(few)):
        past(ada_client, run)


def test_the_packages_are_requirements_that_pip_reads(bo_client, run):
    report_environment(run.newest_attempt())
    answer = bo_client.get(reverse("attempt-packages", args=[run.uid, 1]))
    assert answer.content == b"numpy==2.3.0\ntorch==2.9.1\n"
    assert answer["Content-Disposition"] == f'attachment; filename="{run.uid}-a1-requirements.txt"'


def test_code_is_a_self_extracting_file(bo_client, run, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    bundle(tmp_path / "code")
    Attempt.objects.update(code={**PINNED, "sha256": fingerprint()})
    answer = bo_client.get(reverse("attempt-code", args=[run.uid, 1]))
    (tmp_path / "got").mkdir()
    got = tmp_path / "got" / f"{fingerprint()}.pyz"
    got.write_bytes(b"".join(answer.streaming_content))
    result = subprocess.run([sys.executable, "-I", str(got), str(tmp_path / "far")], capture_output=True, check=True)
    assert fingerprint(tmp_path / "far" / got.stem / "workers") == fingerprint()
    assert result.stdout.decode().strip().endswith(fingerprint())


@pytest.mark.parametrize("name", ["attempt-packages", "attempt-code"])
def test_missing_and_private_files_return_404(cy_client, private_experiment, run, name):
    hidden = make_run(private_experiment)
    report_environment(hidden.newest_attempt())
    for uid, n in ((run.uid, 1), (run.uid, 7), (hidden.uid, 1)):
        assert cy_client.get(reverse(name, args=[uid, n])).status_code == 404


def test_api_returns_the_whole_environment(ada, run):
    attempt = report_environment(run.newest_attempt())
    Attempt.objects.update(code=PINNED)
    body = calls(ada, "read").get(f"/api/v1/attempts/{attempt.key}").json()
    assert body["code"] == PINNED
    assert body["environment"] == {**ENVIRONMENT, "packages": VERSIONS}
    other = make_run(run.experiment, seed=1).newest_attempt()
    body = calls(ada, "read").get(f"/api/v1/attempts/{other.key}").json()
    assert (body["code"], body["environment"]) == (None, None)


def test_compared_runs_show_environment_differences(ada_client, experiment):
    runs = [make_run(experiment, seed=n) for n in range(3)]
    address = reverse("compare") + "?" + "&".join(f"run={run.uid}" for run in runs)
    assert "Ran on" not in ada_client.get(address).content.decode()
    for run in runs:
        report_environment(run.newest_attempt())
    assert "the same code, packages, processors and GPUs" in ada_client.get(address).content.decode()
    report_environment(runs[2].newest_attempt(), {**VERSIONS, "torch": "2.10.0"})
    text = ada_client.get(address).content.decode()
    assert text.count("Unlike the baseline") == 1 and "torch 2.10.0 instead of 2.9.1." in text
    text = ada_client.get(f"{address}&baseline={runs[2].uid}").content.decode()
    # The two other runs have the same environment, so they share a line.
    assert text.count("Unlike the baseline") == 1 and "torch 2.9.1 instead of 2.10.0." in text
    assert "2 runs:" in text


def test_shared_link_hides_the_environment(client, ada, experiment):
    runs = [make_run(experiment, seed=n) for n in range(2)]
    for run in runs:
        report_environment(run.newest_attempt(), node="node-of-ours")
    text = link_text(ada, Scope.COMPARE, [run.uid for run in runs], "day")
    page = client.get(reverse("shared", args=[text])).content.decode()
    assert runs[0].name in page and "node-of-ours" not in page
