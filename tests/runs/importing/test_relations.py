"""Evaluations name the training that they belong to, and means over seeds give way to their seeds."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.urls import reverse

from runs import importing
from runs.experiments import trash
from runs.importing import ImportTarget
from runs.importing.hyperparameters import config_of, settings_from_name
from runs.models import Run
from tests.runs.api_client import calls
from tests.runs.full_runs import make_run
from tests.runs.importing.sample_logs import ENDED, HEADER, iteration
from tests.runs.importing.test_documents import evaluation, seed

pytestmark = pytest.mark.usefixtures("runs_dir")


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "published").mkdir()
    return tmp_path / "published"


def bring_in(folder: Path, person, **texts: str):
    for name, text in texts.items():
        (folder / name.replace("__", ".")).write_text(text)
    with ExitStack() as keep:
        return importing.import_runs(importing.files_from_path(folder, keep), ImportTarget(person, "Imported"))


def training(number: int = 0, population: int = 30) -> str:
    head = HEADER.format(seed=number).replace("population_size: 30", f"population_size: {population}")
    return head + "".join(map(iteration, (1, 2, 3, 4))) + ENDED


def evaluated(**more) -> str:
    return json.dumps(evaluation(seed_results={"0": seed(-2.0), "1": seed(-4.0)}, **more))


REPORT = [{"alpha": 0.0005, "sigma": 0.001, "aggregate_reward_mean": -3.0, "num_seeds_hacked_reward": 0}]


def test_evaluations_join_the_training_of_their_seed_and_show_on_its_page(ada, ada_client, folder):
    imported = bring_in(folder, ada, a__log=training(0), b__json=evaluated())
    run = Run.objects.get(source__kind="ES log")
    joined = Run.objects.get(source__kind="evaluation", seed=0)
    assert (joined.parent, Run.objects.get(source__kind="evaluation", seed=1).parent) == (run, None)
    assert (imported.joined, "1 evaluation linked to its training" in imported.sentence) == ([joined], True)

    page = ada_client.get(run.get_absolute_url()).content.decode()
    table = page[page.index('id="evaluations"') : page.index("</table>", page.index('id="evaluations"'))]
    assert f'<a href="{joined.get_absolute_url()}">{joined.name}</a>' in table
    assert ("50\u202f%" in table, "2 samples a prompt at T = 0.7, imported" in table) == (True, True)
    assert "Evaluation of" not in page
    page = ada_client.get(joined.get_absolute_url()).content.decode()
    assert f'Evaluation of <a href="{run.get_absolute_url()}">{run.name}</a>' in " ".join(page.split())
    assert 'id="evaluations"' not in page

    script = calls(ada, "read")
    assert script.get(f"/api/v1/runs/{joined.uid}").json()["parent"] == run.uid
    assert script.get(f"/api/v1/runs/{run.uid}").json()["parent"] is None


def test_an_evaluation_joins_no_training_that_differs_and_none_of_several(ada, folder):
    bring_in(folder, ada, a__log=training(0), b__log=training(0, population=10), c__json=evaluated())
    assert not Run.objects.filter(parent__isnull=False).exists()
    trash.delete_run(Run.objects.get(config__es__population=10), ada)
    (folder / "b.log").unlink()
    bring_in(folder, ada, d__json=evaluated(sigma=0.002))
    joined = Run.objects.filter(parent__isnull=False)
    assert list(joined.values_list("seed", "config__es__sigma")) == [(0, 0.001)]


def test_an_evaluation_made_elsewhere_joins_a_run_that_was_trained_here(ada, experiment, folder):
    config = {"method": "es", "es": {"alpha": 0.0005, "sigma": 0.001}, "model": {"path": "hub/Q"}}
    run = make_run(experiment)
    Run.objects.filter(pk=run.pk).update(config=config)
    (folder / "a.json").write_text(evaluated())
    with ExitStack() as keep:
        files = importing.files_from_path(folder, keep)
        imported = importing.import_runs(files, ImportTarget(ada, experiment.name, experiment=experiment))
    assert [joined.parent for joined in imported.joined] == [run]


def test_a_mean_gives_way_to_its_seeds_and_is_compared_with_them(ada, folder):
    (mean,) = bring_in(folder, ada, report__json=json.dumps(REPORT)).new_runs
    imported = bring_in(folder, ada, a__json=evaluated())
    mean.refresh_from_db()
    assert (imported.replaced, mean.deleted_at is not None) == ([mean], True)
    assert imported.report.facts == [
        "α0.0005 σ0.001, mean over seeds: agrees with the 2 imported seeds",
        "α0.0005 σ0.001, mean over seeds: num_seeds_hacked_reward is 0; "
        "of the 2 imported seeds, 0 gave only empty responses",
    ]
    assert imported.sentence == "2 new runs in Imported; 1 mean replaced by its seeds."


def test_undo_restores_the_replaced_mean(ada, ada_client, bo_client, folder):
    (mean,) = bring_in(folder, ada, report__json=json.dumps(REPORT)).new_runs
    (folder / "a.json").write_text(evaluated())
    with (folder / "a.json").open("rb") as file:
        page = ada_client.post(reverse("import"), {"experiment": "Imported", "files": [file]}).content.decode()
    assert f'name="replaced" value="{mean.uid} "' in page
    new_runs = Run.objects.filter(source__kind="evaluation")
    sent = {"runs": " ".join(new_runs.values_list("uid", flat=True)), "replaced": mean.uid}
    bo_client.post(reverse("import-undo"), sent)
    mean.refresh_from_db()
    assert (mean.deleted_at is None, new_runs.filter(deleted_at=None).count()) == (False, 2)
    ada_client.post(reverse("import-undo"), sent)
    mean.refresh_from_db()
    assert (mean.deleted_at, new_runs.filter(deleted_at=None).count()) == (None, 0)


def test_checked_report_lists_its_disagreements(ada, ada_client, folder):
    wrong = [{**REPORT[0], "aggregate_reward_mean": -9.0}]
    result = bring_in(folder, ada, a__json=evaluated(), report__json=json.dumps(wrong))
    report = importing.ImportedOut.from_row(result).model_dump()["files"][1]
    assert (report["kinds"], report["made"], report["not_understood"]) == (["report"], [], [])
    assert report["disagreements"] == [
        "alpha=0.0005, sigma=0.001: aggregate_reward_mean is -9.0; the 2 imported seeds give -3.0"
    ]
    with (folder / "report.json").open("rb") as file:
        page = ada_client.post(reverse("import"), {"experiment": "Imported", "files": [file]}).content.decode()
    heading = page[page.index('class="import-name"') :].split("</p>")[0]
    assert ("report</span>" in heading, "not understood" in page) == (True, False)
    assert "Alpha=0.0005, sigma=0.001: aggregate_reward_mean is -9.0" in page


def test_name_and_settings_state_every_task() -> None:
    assert settings_from_name("math_es_seed1")["task"] == "math"
    assert "task" not in settings_from_name("my-own-mathematics")
    assert config_of("es", {"task": "safety"})["task"] == {"name": "safety"}
    assert "task" not in config_of("es", {"task": ["safety"]})
