"""A sweep by clicks: set on the launch form, previewed before launch, then run, paused and cancelled."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from runs.launching import reconcile
from runs.models import Cluster, Experiment, Run, Sweep
from tests.runs.launching.conftest import small  # noqa: F401
from tests.runs.local_cluster import Small
from tests.waiting import wait_until


@pytest.fixture
def local(ada) -> Cluster:
    return Cluster.objects.get(name="local")


def test_sweep_is_launched_paused_and_cancelled_by_clicks(
    signed_in,
    address: str,
    experiment: Experiment,
    small: Small,  # noqa: F811
    local: Cluster,
) -> None:
    page = signed_in
    small.program = "import pathlib, time\nwhile not pathlib.Path('../../go').exists(): time.sleep(0.01)"
    page.goto(f"{address}{experiment.get_absolute_url()}launch/?preset=es-micro")
    expect(page.get_by_label("Key 2")).to_be_hidden()
    page.get_by_label("Key 1").select_option("es.sigma")
    page.locator("[name='sweep-values_1']").fill("0.1, -1")
    expect(page.locator("#standing")).to_contain_text("1 problem to fix")
    expect(page.locator("[id='id_sweep-values_1_problems']")).to_contain_text("must be above 0")
    page.locator("[name='sweep-values_1']").fill("0.1, 0.2")
    page.get_by_label("Key 2").select_option("es.population")
    page.locator("[name='sweep-values_2']").fill("4, 8")
    page.locator("[name='sweep-at_once']").fill("1")
    expect(page.locator("#standing")).to_contain_text("a sweep of 4 runs: 4 × 1 (cells × seeds), 1 at a time")
    page.get_by_role("button", name="Launch").click()

    expect(page.get_by_role("heading", name="es-micro sweep", level=1)).to_be_visible()
    expect(page.locator("#standing")).to_contain_text("4 waiting")
    reconcile.reconcile_cluster(local)
    expect(page.locator("#standing")).to_contain_text("3 waiting")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#standing")).to_contain_text("3 waiting until the sweep is resumed")
    (small.root.parent / "runs" / "go").touch()
    wait_until(
        lambda: reconcile.reconcile_cluster(local) and Run.objects.filter(state="succeeded").exists(),
        "the first run of the sweep to succeed",
    )
    expect(page.locator("#standing")).to_contain_text("1 of 4 runs finished")
    assert len(small.submitted) == 1

    page.get_by_role("button", name="Cancel sweep").click()
    page.get_by_role("button", name="Cancel all runs").click()
    page.get_by_text("Cancel of 3 runs requested").wait_for()
    expect(page.locator("#standing")).to_contain_text("4 of 4 runs finished")
    page.get_by_role("button", name="Undo cancel").click()
    page.get_by_text("3 runs resume").wait_for()
    assert Sweep.objects.get().runs.filter(state="created").count() == 3
