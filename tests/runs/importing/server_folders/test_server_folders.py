"""Folders of this server: only admins import them, only below a cluster's import_paths, and while they grow."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db.models import F
from django.test import Client

from runs import access
from runs.importing import server_folders
from runs.importing.server_folders import look
from runs.models import Cluster, Experiment, RecordFile, Run, ServerFolder
from tests.runs.api_client import calls, paths
from workers.attempt import EXIT_RECORD, RUN_CONFIG
from workers.config import preset
from workers.records import Metric, RecordWriter

FOLDERS = "/api/v1/imports/folders"


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root")


@pytest.fixture
def disk(tmp_path: Path, local: Cluster, runs_dir: Path) -> Path:
    """Return a folder of which the cluster allows imports."""
    folder = tmp_path / "lab"
    folder.mkdir()
    local.config = {"import_paths": [str(folder)]}
    local.save()
    return folder


def start_attempt(disk: Path) -> tuple[Path, RecordWriter]:
    folder = disk / "es-seed1"
    folder.mkdir()
    (folder / RUN_CONFIG).write_text(json.dumps(preset("es-micro").config))
    return folder, RecordWriter(folder, 0)


def end_attempt(folder: Path) -> None:
    ending = {"code": 0, "signal": None, "epoch": 0, "started_at": 1.7e9, "ended_at": 1.7e9 + 60, "timed_out": False}
    (folder / EXIT_RECORD).write_text(json.dumps({**ending, "stopped": False}))


def post(person: User, path: Path | str, **more: object):
    body = {"cluster": "local", "path": str(path), **more}
    return calls(person, "admin").post(FOLDERS, body, content_type="application/json")


def look_again() -> int:
    ServerFolder.objects.active().update(next_look_at=F("added_at"))
    return server_folders.look_at_due_folders()


def test_growing_folder_is_followed_until_its_attempt_has_ended(root: User, disk: Path) -> None:
    folder, records = start_attempt(disk)
    records.write(Metric(1, {"reward/mean": 0.5}))
    reply = post(root, folder, experiment_name="Concise")
    assert (reply.status_code, reply.json()["state"], reply.json()["result"]) == (202, "waiting", None)
    assert post(root, folder, experiment_name="Concise").status_code == 200
    assert look_again() == 1
    run = Run.objects.get()
    assert (run.method, run.state, run.experiment.name, run.experiment.owner) == ("es", "unknown", "Concise", root)
    assert RecordFile.objects.get().next_seq == 1
    records.write(Metric(2, {"reward/mean": 0.75}))
    look_again()
    assert (RecordFile.objects.get().next_seq, Run.objects.get()) == (2, run)
    address = f"{FOLDERS}/{ServerFolder.objects.get().pk}"
    assert calls(root, "admin").get(address).json()["state"] == "following"
    records.close()
    end_attempt(folder)
    look_again()
    run.refresh_from_db()
    body = calls(root, "admin").get(address).json()
    assert (body["state"], body["result"]["said"], body["problem"]) == ("done", "0 new runs; 1 run continued.", "")
    assert (run.state, look_again()) == ("succeeded", 0)


def test_unchanged_folder_is_not_read_again(root: User, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, records = start_attempt(disk)
    records.write(Metric(1, {"reward/mean": 0.5}))
    post(root, folder)
    look_again()
    row = ServerFolder.objects.get()
    (folder / "heartbeat.json").write_text("{}")
    assert look.look_at(row) is None
    monkeypatch.setattr(look, "UNCHANGED", timedelta(0))
    look_again()
    assert ServerFolder.objects.get().state == "done"
    records.close()


def test_stopped_folder_is_read_no_more_and_its_runs_stay(root: User, disk: Path) -> None:
    folder, records = start_attempt(disk)
    records.write(Metric(1, {"reward/mean": 0.5}))
    pk = post(root, folder).json()["id"]
    look_again()
    assert calls(root, "admin").delete(f"{FOLDERS}/{pk}").status_code == 204
    records.write(Metric(2, {"reward/mean": 0.5}))
    records.close()
    assert (look_again(), RecordFile.objects.get().next_seq) == (0, 1)


def test_path_outside_the_roots_is_refused(root: User, disk: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (disk / "link").symlink_to(secret)
    outside = f"must be inside one of {disk}"
    refusals = {
        secret: outside, tmp_path / "nothing": outside, disk / ".." / "secret": outside, Path("lab"): outside,
        disk / "link": f"leads out of {disk} by a link",
        disk / "nothing": "cannot be read: No such file or directory",
    }  # fmt: skip
    for path, message in refusals.items():
        assert paths(post(root, path))["path"] == message, path
    assert paths(post(root, disk, cluster="alps"))["cluster"] == "must be one of local"
    Cluster.objects.update(config={})
    assert "has no import_paths" in paths(post(root, disk))["path"]
    assert not ServerFolder.objects.exists()


def test_link_that_leads_out_later_ends_the_folder(root: User, disk: Path, tmp_path: Path) -> None:
    folder, records = start_attempt(disk)
    records.write(Metric(1, {"reward/mean": 0.5}))
    records.close()
    post(root, folder)
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    look_again()
    row = ServerFolder.objects.get()
    assert (row.state, row.problem, Run.objects.count()) == ("failed", f"leads out of {disk} by a link", 0)


def test_only_admins_import_folders(ada: User, root: User, ada_client: Client, disk: Path) -> None:
    assert post(ada, disk).status_code == 403
    assert ada_client.get("/import/folders/").status_code == 403
    assert ada_client.post("/import/folders/", {"cluster": "local", "path": str(disk)}).status_code == 403
    assert "/import/folders/" not in ada_client.get("/import/").content.decode()
    folder, records = start_attempt(disk)
    records.write(Metric(1, {"reward/mean": 0.5}))
    records.close()
    post(root, folder)
    User.objects.create_superuser("other")
    access.give_role(root, access.Role.MEMBER)
    look_again()
    assert (ServerFolder.objects.get().problem, Run.objects.count()) == ("root is no admin any more", 0)


def test_page_adds_lists_and_stops_a_folder(client: Client, root: User, disk: Path) -> None:
    client.force_login(root)
    assert "/import/folders/" in client.get("/import/").content.decode()
    assert "No folder of this server has been imported yet." in client.get("/import/folders/").content.decode()
    refused = client.post("/import/folders/", {"cluster": "local", "path": "/etc"})
    assert (refused.status_code, f"must be inside one of {disk}" in refused.content.decode()) == (400, True)
    folder, records = start_attempt(disk)
    records.write(Metric(1, {"reward/mean": 0.5}))
    records.close()
    added = client.post("/import/folders/", {"cluster": "local", "path": str(folder), "follows": "on"}, follow=True)
    assert f"{folder} will be read in a few seconds." in added.content.decode()
    look_again()
    listed = client.get("/import/folders/list/").content.decode()
    experiment = Experiment.objects.get()
    assert experiment.name == "es-seed1" and experiment.get_absolute_url() in listed and "following" in listed
    client.post(f"/import/folders/{ServerFolder.objects.get().pk}/stop/")
    assert ServerFolder.objects.get().state == "done"
    Cluster.objects.update(config={})
    assert "import_paths" in client.get("/import/folders/").content.decode()


def test_command_follows_a_folder(root: User, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, records = start_attempt(disk)
    records.write(Metric(1, {"reward/mean": 0.5}))

    def go_on(_: float) -> None:
        records.write(Metric(2, {"reward/mean": 0.5}))
        records.close()
        end_attempt(folder)

    monkeypatch.setattr("time.sleep", go_on)
    call_command("import", str(folder), "--follow", "--owner", "root")
    assert (Run.objects.get().state, RecordFile.objects.get().next_seq) == ("succeeded", 2)
    with pytest.raises(CommandError, match="Nothing was read"):
        (disk / "empty").mkdir()
        monkeypatch.setattr("time.sleep", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        call_command("import", str(disk / "empty"), "--owner", "root")


def test_call_leaves_folders_to_the_next_one_when_its_time_is_over(
    root: User, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time limit of a task is that of one import: it must not end a folder that came later in the same call."""
    for name in ("a", "b"):
        (disk / name).mkdir()
        post(root, disk / name)
    monkeypatch.setattr(look, "TURN_SECONDS", 0.0)
    assert server_folders.look_at_due_folders() == 0
    assert ServerFolder.objects.due().count() == 2
    monkeypatch.setattr(look, "TURN_SECONDS", 20.0)
    assert server_folders.look_at_due_folders() == 2
