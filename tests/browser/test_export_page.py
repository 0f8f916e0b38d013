"""The page of an export sends the file of a run, and the archive of its experiment is imported on its page."""

from __future__ import annotations

import zipfile
from pathlib import Path

from django.urls import reverse
from playwright.sync_api import Page, expect

from runs.models import Experiment, Run
from tests.browser.axe import View, check_views
from tests.runs import full_runs

WEIGHTS = b"x" * 3_000_000


def test_exported_experiment_is_imported(
    signed_in: Page, address: str, runs_dir: Path, experiment: Experiment, views: tuple[View, ...], tmp_path: Path
) -> None:
    run = full_runs.make_run(experiment, state="succeeded")
    full_runs.record(run, full_runs.a_bit_of_everything())
    folder = run.attempts.get().directory / "checkpoints" / "step-000005"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(WEIGHTS)
    page = signed_in
    page.goto(address + reverse("run", args=[run.uid]))
    page.get_by_role("link", name="Export").click()
    assert check_views(page, views) == "{}"
    page.get_by_label("Include checkpoints").check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == f"esweb-run-{run.uid}.zip"
    with zipfile.ZipFile(download.value.path()) as archive:
        (weights,) = (name for name in archive.namelist() if name.endswith("step-000005/model.safetensors"))
        assert archive.read(weights) == WEIGHTS
    page.get_by_role("link", name="Export all runs of").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    download.value.save_as(tmp_path / "archive.zip")
    page.goto(address + reverse("experiment-import"))
    page.get_by_label("The zip of an experiment").set_input_files(tmp_path / "archive.zip")
    page.get_by_label("Experiment", exact=True).fill("Copy")
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("region", name="Import result").get_by_role("status")).to_contain_text("1 new run in Copy")
    assert check_views(page, views) == "{}"
    assert Run.objects.get(experiment__name="Copy").response_set.count() == run.response_set.count()
