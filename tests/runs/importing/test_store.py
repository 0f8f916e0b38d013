"""What was found becomes runs once: again makes nothing, and a file that went on takes the old run's place."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.db import connection

from runs import importing, metrics
from runs.experiments import trash
from runs.importing import ImportTarget
from runs.launching import commands
from runs.models import Attempt, Batch, Experiment, Run
from tests.runs.importing.event_file_writer import event, scalar, write
from tests.runs.importing.sample_logs import ENDED, HEADER, iteration
from workers.config import ConfigError

pytestmark = pytest.mark.usefixtures("runs_dir")


def log(seed: int = 0, steps: tuple[int, ...] = (1, 2, 3, 4), end: str = ENDED) -> str:
    return HEADER.format(seed=seed) + "".join(map(iteration, steps)) + end


def bring_in(path: Path, person: User, name: str = "Imported", **place):
    with ExitStack() as keep:
        return importing.bring_in(importing.of_path(path, keep), ImportTarget(person, name, **place))


def curve(run: Run, key: str = "train/reward/mean"):
    return metrics.read([run], [key])[0]


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "es" / "a.log"
    path.parent.mkdir()
    path.write_text(log())
    return path


def test_a_run_stands_where_people_look_for_it(ada, file):
    imported = bring_in(file, ada)
    (run,) = imported.made
    attempt = run.attempts.get()
    assert (run.name, run.method, run.seed, run.state) == ("es α0.0005 σ0.001 seed 0", "es", 0, "succeeded")
    assert (run.experiment.name, run.experiment.owner, run.created_by) == ("Imported", ada, ada)
    assert (attempt.cluster, attempt.origin, attempt.seconds, attempt.reason) == (None, "import", 12.5, "")
    assert attempt.events.get().why == "imported from a.log: 4 records"
    assert (run.note, run.preset) == ("Imported from a.log.", "α0.0005 σ0.001")
    assert (attempt.directory / "log.txt").read_text() == file.read_text()
    np.testing.assert_array_equal(curve(run).x, [1, 2, 3, 4])
    assert imported.sentence == "1 new run in Imported."


def test_the_same_file_makes_nothing_again_wherever_it_lies_and_says_so(ada, file, tmp_path):
    (run,) = bring_in(file, ada, is_default=True).made
    copy = tmp_path / "other.txt"
    copy.write_text(file.read_text())
    again = bring_in(copy, ada, "Other", is_default=True)
    assert (again.made, again.known, Run.objects.count(), Experiment.objects.count()) == ([], [run], 1, 1)
    assert again.sentence == "0 new runs; 1 run known already, nothing made again."


def test_another_experiment_that_is_named_gets_its_own(ada, file):
    bring_in(file, ada, "One")
    assert len(bring_in(file, ada, "Two").made) == 1
    assert bring_in(file, ada, "Two").made == []


def test_another_person_s_import_is_not_mine(ada, bo, file):
    bring_in(file, ada)
    assert len(bring_in(file, bo, is_default=True).made) == 1


def test_what_was_thrown_away_is_imported_anew(ada, file):
    (run,) = bring_in(file, ada).made
    trash.delete_run(run, ada)
    (anew,) = bring_in(file, ada).made
    assert anew != run
    trash.delete_experiment(anew.experiment, ada)
    assert bring_in(file, ada).experiment != anew.experiment


def test_a_log_that_went_on_takes_the_place_of_what_was_read_of_it(ada, file):
    file.write_text(log(steps=(1, 2), end="") + "Iteration 3/4, Ti")
    (run,) = bring_in(file, ada).made
    assert (run.state, len(curve(run).y)) == ("lost", 2)
    Run.objects.filter(pk=run.pk).update(note="mine", tags=["good"])
    file.write_text(log())
    imported = bring_in(file, ada)
    assert (imported.made, imported.went_on, Run.objects.count()) == ([], [run], 1)
    run.refresh_from_db()
    assert (run.state, run.note, run.tags, len(curve(run).y)) == ("succeeded", "mine", ["good"], 4)
    assert run.series.get(key="train/reward/mean").points == 4
    assert imported.sentence == "0 new runs; 1 run went on."
    assert bring_in(file, ada).known == [run]


@pytest.mark.parametrize("order", list(permutations(("failed-1", "failed-2", "seed-0"))))
def test_imported_jobs_that_begin_with_a_failed_one_s_bytes_stay_apart_in_any_order(ada, tmp_path, order):
    failure = "Traceback (most recent call last):\nRuntimeError: no device\n"
    texts = {"failed-1": failure, "failed-2": failure} | {f"seed-{n}": failure + log(n, (1, 2)) for n in (0, 1)}
    (tmp_path / "logs").mkdir()
    for name in (*order, "seed-1"):
        (tmp_path / "logs" / f"{name}.log").write_text(texts[name])
        imported = bring_in(tmp_path / "logs" / f"{name}.log", ada)
        assert (len(imported.made), imported.went_on, imported.known) == (1, [], [])
    before = list(Run.objects.order_by("pk").values_list())
    assert sorted(Run.objects.values_list("state", "seed")) == [
        ("failed", -1), ("failed", -1), ("succeeded", 0), ("succeeded", 1),
    ]  # fmt: skip
    again = bring_in(tmp_path / "logs", ada)
    assert (again.made, again.went_on, len(again.known)) == ([], [], 4)
    assert list(Run.objects.order_by("pk").values_list()) == before


def test_logs_of_unknown_seeds_go_on_under_their_own_name_alone(ada, tmp_path):
    texts = {"a": "".join(map(iteration, (1, 2))), "b": "".join(map(iteration, (1, 2, 3)))}
    for name, text in texts.items():
        (tmp_path / f"{name}.log").write_text(text)
        assert len(bring_in(tmp_path / f"{name}.log", ada).made) == 1
    (tmp_path / "a.log").write_text(texts["b"] + iteration(4))
    assert len(bring_in(tmp_path / "a.log", ada).went_on) == 1
    assert list(Run.objects.values_list("seed", flat=True)) == [-1, -1]


def test_later_states_of_one_trainer_are_one_run(ada, tmp_path):
    entries = [f'{{"loss": {i}.0, "step": {i}}}' for i in range(1, 5)]
    for step in (2, 4):
        folder = tmp_path / "out" / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        (folder / "trainer_state.json").write_text(f'{{"log_history": [{", ".join(entries[:step])}], "max_steps": 4}}')
    imported = bring_in(tmp_path / "out", ada)
    (run,) = imported.made
    assert imported.went_on == [run]
    assert list(curve(run, "train/loss").y) == [1.0, 2.0, 3.0, 4.0]


def test_event_files_of_a_folder_are_one_run_and_a_new_one_goes_on_with_it(ada, tmp_path):
    write(tmp_path / "tb" / "events.1", event(1, scalar("a", 1.0)))
    (run,) = bring_in(tmp_path / "tb", ada).made
    write(tmp_path / "tb" / "events.2", event(2, scalar("a", 2.0), at=1_700_000_500.0))
    assert bring_in(tmp_path / "tb", ada).went_on == [run]
    assert list(curve(run, "a").y) == [1.0, 2.0]


def test_a_restart_in_the_log_greys_what_it_went_over(ada, file):
    file.write_text(HEADER.format(seed=0) + "".join(map(iteration, (1, 2, 3, 2, 3, 4))) + ENDED)
    (run,) = bring_in(file, ada).made
    assert list(curve(run).overwritten) == [False, True, True, False, False, False]


def test_a_file_of_several_runs_makes_several_and_each_is_known_by_itself(ada, file):
    file.write_text(log(0) + log(1))
    one, two = bring_in(file, ada).made
    assert (one.seed, two.seed) == (0, 1)
    trash.delete_run(one, ada)
    again = bring_in(file, ada)
    assert (len(again.made), again.known) == (1, [two])


def test_what_was_not_understood_stands_on_the_run_and_in_the_answer(ada, file):
    file.write_text(iteration(1) + "Iteration 2/4, Time: ##\n" + iteration(3))
    imported = bring_in(file, ada)
    (run,) = imported.made
    why = "iteration 2 without a number that can be read"
    assert importing.told(imported)["files"][0]["not_understood"] == [{"place": "line 2", "why": why}]
    assert run.attempts.get().events.filter(level="warning").get().why == f"a.log, line 2: {why}"


def test_a_file_without_anything_is_named_and_makes_no_experiment(ada, tmp_path):
    (tmp_path / "notes.md").write_text("# Notes\n")
    imported = bring_in(tmp_path / "notes.md", ada)
    assert (imported.experiment, Experiment.objects.count()) == (None, 0)
    assert imported.refused[0].why.startswith("nothing in it is of a kind that is read here (ES and TRL logs")


def test_a_config_that_was_imported_is_launched_by_nobody_by_mistake(ada, local, file):
    (run,) = bring_in(file, ada).made
    with pytest.raises(ConfigError, match="imported: is not a known key"):
        commands.launch_run(experiment=run.experiment, person=ada, config=run.config)
    assert Attempt.objects.count() == 1


def test_more_records_than_a_batch_holds_are_all_there(ada, file, monkeypatch):
    monkeypatch.setattr("runs.importing.store.FLUSH", 20)
    file.write_text("".join(iteration(i, 50) for i in range(1, 51)))
    (run,) = bring_in(file, ada).made
    np.testing.assert_array_equal(curve(run).x, np.arange(1, 51))
    assert Batch.objects.filter(run=run).count() == 3
    assert run.state == "succeeded"


@pytest.mark.django_db(transaction=True)
def test_of_two_who_bring_the_same_file_at_once_one_makes_it(file):
    person, made = User.objects.create(username="ada"), []

    def once() -> None:
        try:
            made.append(len(bring_in(file, person).made))
        finally:
            connection.close()

    threads = [threading.Thread(target=once) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [0, 0, 1]
    assert Run.objects.count() == 1
