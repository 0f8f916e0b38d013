"""The demonstration's tournament: last answers of its runs and answers before training, judged once by form."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from esweb.demo import tournament
from esweb.demo.experiment import PLANS, launch
from judging import boards
from judging.boards.charts import forest_chart
from judging.models import Judge, Tournament, Verdict
from judging.tournaments import Entry, create_tournament
from judging.tournaments.commands import move_to_trash
from runs.models import Attempt, Experiment, Response, Run
from runs.responses.viewer import columns_of
from tests.judging.tournament_factory import answered_run, rubric


def make_trained_run(experiment: Experiment, name: str, before: list[str], after: list[str]) -> Run:
    """Create a run with these answers at step 0 and at step 10."""
    run = answered_run(experiment, name, after, step=10)
    rows = list(Response.objects.filter(run=run).order_by("seq"))
    for row, text in zip(rows, before, strict=True):
        row.pk, row.seq, row.step, row.text = None, row.seq + len(rows), 0, text
    Response.objects.bulk_create(rows)
    return run


@pytest.fixture
def trained_experiment(experiment: Experiment) -> Experiment:
    """Create two runs whose answers became shorter to different degrees."""
    before = [f"{k} is what you asked, USER: and now?" for k in range(3)]
    make_trained_run(experiment, "es", before, [f"{k} it is." for k in range(3)])
    make_trained_run(experiment, "grpo", before, [f"{k} it is, which is said in {'many ' * 9}words." for k in range(3)])
    return experiment


def test_runs_are_compared_with_each_other_and_the_base_model(trained_experiment: Experiment) -> None:
    demo_tournament = tournament.get_or_create_tournament(trained_experiment)
    assert demo_tournament is not None
    names = list(demo_tournament.contestants.values_list("name", "step"))
    assert names == [("es · step 10 · eval", 10), ("grpo · step 10 · eval", 10), ("before training", 0)]
    assert demo_tournament.comparisons.count() == 9
    verdicts = Verdict.objects.rating().filter(comparison__tournament=demo_tournament)
    assert verdicts.count() == 18
    assert {verdict.judge.kind for verdict in verdicts if verdict.judge} == {Judge.Kind.RULES}
    against_the_untrained = verdicts.filter(comparison__a__name__startswith="es", comparison__b__step=0)
    assert set(against_the_untrained.values_list("outcome", flat=True)) == {"a"}


def test_board_is_stored_and_printed(trained_experiment: Experiment) -> None:
    demo_tournament = tournament.get_or_create_tournament(trained_experiment)
    assert demo_tournament is not None
    heading, *lines = tournament.board(demo_tournament).splitlines()[-4:]
    assert heading.split()[:2] == ["contestant", "rating"]
    assert [line.split(" ·")[0].split("  ")[0] for line in lines] == ["es", "grpo", "before training"]
    assert all(line.split()[-1] == "12" for line in lines)
    tournament.board(demo_tournament)
    assert demo_tournament.snapshots.count() == 1


def test_model_before_training_is_drawn_in_the_neutral_colour(trained_experiment: Experiment) -> None:
    demo_tournament = tournament.get_or_create_tournament(trained_experiment)
    assert demo_tournament is not None
    snapshot = boards.save_board(demo_tournament, demo_tournament.rubrics.get(), boards.BoardSettings(prior=0.5))

    traces = forest_chart(snapshot.board, demo_tournament.methods).figure["data"]

    colours = {trace["meta"]["colour"]: len(trace["y"]) for trace in traces}
    assert colours == {"es": 2, "other": 1}
    assert demo_tournament.methods["before training"] == ""
    (neutral,) = [trace for trace in traces if trace["meta"]["colour"] == "other"]
    assert (neutral["name"], neutral["marker"]["symbol"]) == ("other", "diamond")
    assert "before training" in neutral["text"][0]


def test_answers_at_step_0_alone_have_their_methods_colour(experiment: Experiment) -> None:
    runs = [answered_run(experiment, name, [name]) for name in ("es-500", "es-100")]
    entries = [Entry(run, 0, "eval") for run in runs]
    new = Tournament(owner=experiment.owner, name="Imported")
    new_tournament = create_tournament(new, entries, [rubric("form")], prompts=1)

    assert set(new_tournament.methods.values()) == {"es"}


def test_viewer_column_before_training_is_of_no_method(trained_experiment: Experiment) -> None:
    run = trained_experiment.runs.get(name="es")
    columns = columns_of(trained_experiment.owner, [f"{run.uid}@0", f"{run.uid}@10"])

    assert [column.method for column in columns.all] == ["", "es"]


def test_tournament_is_created_once_and_not_after_deletion(trained_experiment: Experiment) -> None:
    first = tournament.get_or_create_tournament(trained_experiment)
    assert first is not None
    assert tournament.get_or_create_tournament(trained_experiment) == first
    move_to_trash(first, trained_experiment.owner)
    again = tournament.get_or_create_tournament(trained_experiment)
    assert again == first and again.deleted_at is not None
    assert (Tournament.objects.count(), Verdict.objects.count()) == (1, 18)


def test_tournament_needs_two_runs_with_answers(experiment: Experiment) -> None:
    answered_run(experiment, "alone", ["yes"])
    assert tournament.get_or_create_tournament(experiment) is None


def test_a_demonstration_that_ended_before_is_judged_when_it_starts_again(
    ada: User, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment, _safe = launch(PLANS["micro"], ada)
    call_command("demo_experiment", "--once", "--site", "http://127.0.0.1:8000")
    assert "The board" not in capsys.readouterr().out
    Run.objects.filter(experiment=experiment).delete()
    for name in ("es", "grpo"):
        answered_run(experiment, name, ["yes", "no"])
    Attempt.objects.update(state="succeeded", drained_at="2026-01-01T00:00Z")
    for _ in range(2):
        call_command("demo_experiment", "--once", "--site", "http://127.0.0.1:8000")
    demo_tournament = Tournament.objects.get()
    assert f"Leaderboard: http://127.0.0.1:8000{demo_tournament.get_absolute_url()}board/" in capsys.readouterr().out
