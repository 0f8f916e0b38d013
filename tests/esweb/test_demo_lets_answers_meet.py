"""The demonstration's tournament: what its runs answered at last and before training, judged by form, and only once."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from esweb.demo import tournament
from esweb.demo.experiment import PLANS, launch
from judging import boards
from judging.boards.charts import forest
from judging.models import Judge, Tournament, Verdict
from judging.tournaments import Draft, Entry, make
from judging.tournaments.commands import delete
from runs.models import Attempt, Experiment, Response, Run
from runs.responses.viewer import columns_of
from tests.judging.tournament_factory import answered_run, rubric


def trained(experiment: Experiment, name: str, before: list[str], after: list[str]) -> Run:
    """A run that answered so at step 0 and at step 10."""
    run = answered_run(experiment, name, after, step=10)
    rows = list(Response.objects.filter(run=run).order_by("seq"))
    for row, text in zip(rows, before, strict=True):
        row.pk, row.seq, row.step, row.text = None, row.seq + len(rows), 0, text
    Response.objects.bulk_create(rows)
    return run


@pytest.fixture
def taught(experiment: Experiment) -> Experiment:
    """Two runs that became brief in different measure."""
    before = [f"{k} is what you asked, USER: and now?" for k in range(3)]
    trained(experiment, "es", before, [f"{k} it is." for k in range(3)])
    trained(experiment, "grpo", before, [f"{k} it is, which is said in {'many ' * 9}words." for k in range(3)])
    return experiment


def test_each_run_meets_the_others_and_the_untrained_model_and_form_decides(taught: Experiment) -> None:
    held = tournament.hold(taught)
    assert held is not None
    names = list(held.contestants.values_list("name", "step"))
    assert names == [("es · step 10 · eval", 10), ("grpo · step 10 · eval", 10), ("before training", 0)]
    assert held.comparisons.count() == 9
    verdicts = Verdict.objects.rating().filter(comparison__tournament=held)
    assert verdicts.count() == 18
    assert {verdict.judge.kind for verdict in verdicts if verdict.judge} == {Judge.Kind.RULES}
    against_the_untrained = verdicts.filter(comparison__a__name__startswith="es", comparison__b__step=0)
    assert set(against_the_untrained.values_list("outcome", flat=True)) == {"a"}


def test_its_board_is_kept_and_told(taught: Experiment) -> None:
    held = tournament.hold(taught)
    assert held is not None
    heading, *lines = tournament.board(held).splitlines()[-4:]
    assert heading.split()[:2] == ["contestant", "rating"]
    assert [line.split(" ·")[0].split("  ")[0] for line in lines] == ["es", "grpo", "before training"]
    assert all(line.split()[-1] == "12" for line in lines)
    tournament.board(held)
    assert held.snapshots.count() == 1


def test_model_before_training_is_drawn_in_the_neutral_colour(taught: Experiment) -> None:
    held = tournament.hold(taught)
    assert held is not None
    said = boards.keep(held, held.rubrics.get(), boards.BoardSettings(prior=0.5))

    traces = forest(said.board, held.methods).figure["data"]

    colours = {trace["meta"]["colour"]: len(trace["y"]) for trace in traces}
    assert colours == {"es": 2, "other": 1}
    assert held.methods["before training"] == ""
    (neutral,) = [trace for trace in traces if trace["meta"]["colour"] == "other"]
    assert (neutral["name"], neutral["marker"]["symbol"]) == ("other", "diamond")
    assert "before training" in neutral["text"][0]


def test_answers_that_stand_at_step_0_alone_have_the_colour_of_their_method(experiment: Experiment) -> None:
    runs = [answered_run(experiment, name, [name]) for name in ("es-500", "es-100")]
    held = make(experiment.owner, Draft("Imported", [Entry(run, 0, "eval") for run in runs], [rubric("form")], 1))

    assert set(held.methods.values()) == {"es"}


def test_viewer_column_before_training_is_of_no_method(taught: Experiment) -> None:
    run = taught.runs.get(name="es")
    columns = columns_of(taught.owner, [f"{run.uid}@0", f"{run.uid}@10"])

    assert [column.method for column in columns.all] == ["", "es"]


def test_held_twice_it_is_the_same_and_what_was_thrown_away_stays_away(taught: Experiment) -> None:
    first = tournament.hold(taught)
    assert first is not None
    assert tournament.hold(taught) == first
    delete(first, taught.owner)
    again = tournament.hold(taught)
    assert again == first and again.deleted_at is not None
    assert (Tournament.objects.count(), Verdict.objects.count()) == (1, 18)


def test_without_two_that_answered_there_is_none(experiment: Experiment) -> None:
    answered_run(experiment, "alone", ["yes"])
    assert tournament.hold(experiment) is None


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
    held = Tournament.objects.get()
    assert f"The board: http://127.0.0.1:8000{held.get_absolute_url()}board/" in capsys.readouterr().out
