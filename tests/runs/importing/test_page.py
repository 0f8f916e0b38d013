"""The page: files in, what was understood and what was not, and the way back; the same code as the command."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from runs import access
from runs.access import Role
from runs.importing import uploads
from runs.models import Experiment, Run
from tests.runs.importing.sample_logs import ENDED, HEADER, iteration
from tests.runs.importing.test_files import zipped

pytestmark = pytest.mark.usefixtures("runs_dir")
LOG = HEADER.format(seed=0) + "".join(map(iteration, (1, 2, 3, 4))) + ENDED


def file(text: str = LOG, name: str = "a.log") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text)


def sent(client: Client, *files, experiment: str = "Imported", **more):
    return client.post("/import/", {"experiment": experiment, "files": list(files), **more})


def test_page_lists_readable_kinds_and_limits(ada_client):
    answer = ada_client.get("/import/")
    assert answer.status_code == 200
    assert all(words in answer.content.decode() for words in ("256.0\xa0MB and 100 files", "Trainer states", "ES logs"))


def test_a_dropped_log_is_a_run_and_twice_no_second(ada_client):
    answer = sent(ada_client, file())
    (run,) = Run.objects.all()
    assert f'<a href="/runs/{run.uid}/">es α0.0005 σ0.001 seed 0</a>' in answer.content.decode()
    assert "1 new run in Imported." in answer.content.decode()
    again = sent(ada_client, file(name="b.log")).content.decode()
    assert "already imported" in again
    assert (Run.objects.count(), Experiment.objects.count()) == (1, 1)


def test_unreadable_upload_is_reported_with_each_files_reason(ada_client):
    answer = sent(ada_client, file("# no\n", "a.md"))
    page = answer.content.decode()
    assert answer.status_code == 400
    assert '<p class="problem-list tone-bad" role="alert">Nothing was read. Supported are: ES and TRL logs' in page
    assert "<strong>a.md</strong>" in page
    assert Experiment.objects.count() == 0


def test_undo_deletes_the_runs_and_the_new_experiment(ada_client):
    answer = sent(ada_client, file())
    run, experiment = Run.objects.get(), Experiment.objects.get()
    assert answer.context["imported"].target.is_new
    done = ada_client.post("/import/undo/", {"runs": run.uid, "experiment": experiment.pk}, follow=True)
    assert "Moved Imported with its imported runs to the trash" in done.content.decode()
    experiment.refresh_from_db()
    assert experiment.deleted_at is not None
    ada_client.post(f"/experiments/{experiment.pk}/shelve/", {"do": "restore", "undo": "1"})
    assert ada_client.get(f"/runs/{run.uid}/").status_code == 200


def test_undo_leaves_what_else_is_in_the_experiment(ada_client, experiment):
    sent(ada_client, file(), experiment="Concise")
    sent(ada_client, file(LOG.replace("seed: 0", "seed: 1")), experiment="Concise")
    first, second = Run.objects.order_by("pk")
    ada_client.post("/import/undo/", {"runs": second.uid, "experiment": experiment.pk})
    assert [run.deleted_at is None for run in Run.objects.order_by("pk")] == [True, False]
    experiment.refresh_from_db()
    assert experiment.deleted_at is None
    assert first.experiment == experiment


def test_nobody_undoes_what_is_another_s_or_was_launched(ada_client, bo_client, experiment):
    sent(ada_client, file())
    run = Run.objects.get()
    bo_client.post("/import/undo/", {"runs": run.uid, "experiment": run.experiment_id})
    assert Run.objects.get().deleted_at is None
    Run.objects.get().source.delete()
    ada_client.post("/import/undo/", {"runs": run.uid})
    assert Run.objects.get().deleted_at is None


def test_a_folder_s_names_come_along_and_lead_nowhere(ada_client):
    bare = "".join(map(iteration, (1, 2, 3, 4)))
    sent(ada_client, file(bare), path=["alpha0.0015_sigma0.010/es_seed7.log"])
    run = Run.objects.get()
    assert (run.seed, run.config["es"]) == (7, {"alpha": 0.0015, "sigma": 0.01})
    answer = sent(ada_client, file(bare + "\n"), path=["../../etc/passwd"]).content.decode()
    assert "its name points outside its folder" in answer


def test_archive_is_imported_and_unknown_files_are_named(ada_client):
    data = zipped(**{"es/seed_0.log": LOG, "readme.md": "# hello", "../x": "y"})
    answer = sent(ada_client, SimpleUploadedFile("all.zip", data)).content.decode()
    assert Run.objects.count() == 1
    assert "all.zip/readme.md" in answer
    assert "its name points outside its folder" in answer


def test_unreadable_line_is_named_and_escaped(ada_client):
    broken = iteration(1) + "Iteration 2/4, Time: ##\n" + iteration(3)
    answer = sent(ada_client, file(broken), path=["<b>x</b>/a.log"]).content.decode()
    assert "line 2: iteration 2 has no readable number" in answer
    assert "&lt;b&gt;x&lt;/b&gt;/a.log" in answer
    assert "<b>x</b>" not in answer


def test_empty_or_too_large_upload_is_reported_and_creates_nothing(ada_client, monkeypatch):
    assert "Select at least one file." in sent(ada_client).content.decode()
    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 10)
    answer = sent(ada_client, file())
    assert (answer.status_code, Run.objects.count()) == (400, 0)
    assert f"The files have {len(LOG.encode())} bytes; an upload may have at most 10" in answer.content.decode()
    nameless = ada_client.post("/import/", {"experiment": " ", "files": [file()]})
    assert (nameless.status_code, Run.objects.count()) == (400, 0)


def test_a_viewer_has_no_such_page(ada, ada_client):
    access.give_role(ada, Role.VIEWER)
    assert ada_client.get("/import/").status_code == 403
    assert sent(ada_client, file()).status_code == 403


def test_clone_form_has_the_settings_and_names_unsupported_ones(ada_client):
    sent(ada_client, file())
    run = Run.objects.get()
    page = ada_client.get(f"/experiments/{run.experiment_id}/launch/?clone={run.uid}")
    assert page.status_code == 200
    assert page.context["form"]["es.sigma"].value() in (0.001, "0.001")
    assert "imported: is not a known key" in page.content.decode()


def test_setting_unknown_to_esweb_is_a_column(ada_client):
    sent(ada_client, file())
    experiment = Experiment.objects.get()
    page = ada_client.get(f"{experiment.get_absolute_url()}?col=imported.train_size&q=imported.train_size:2")
    (row,) = page.context["table"].rows
    assert row.cells[0].value == 2


def test_an_imported_run_has_all_of_its_pages(ada_client):
    sent(ada_client, file())
    run = Run.objects.get()
    page = ada_client.get(f"/runs/{run.uid}/").content.decode()
    assert "Imported from a.log" in page
    assert "launched" not in page.split("</h1>")[1].split("</p>")[0]
    assert "/resume/" not in page
    checkpoints = ada_client.get(reverse("run-checkpoints", args=[run.uid])).content.decode()
    assert "only the checkpoints that came with it can be downloaded" in checkpoints
    assert ada_client.get(f"/runs/{run.uid}/log.txt").getvalue().decode() == LOG
    for address in (run.experiment.get_absolute_url(), f"/compare/?run={run.uid}", f"/runs/{run.uid}/responses/"):
        assert ada_client.get(address, follow=True).status_code == 200
