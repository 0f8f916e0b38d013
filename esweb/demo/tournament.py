"""The demonstration's tournament: answers of its runs at the end, and before training, judged by form alone."""

from __future__ import annotations

from collections.abc import Iterator

from django.contrib.auth.models import User
from django.db import transaction

from judging import boards
from judging.boards.tables import standings_table
from judging.judge_runs import judge_all
from judging.judges import RubricText, next_version, rules_judge
from judging.models import Criterion, Rubric, Tournament
from judging.tournaments import Entry, create_tournament
from runs.models import Experiment, Response, choose_last_step, list_evaluated_steps
from runs.tables import table_text

NAME = "Whose answers have the better form?"
QUESTION = (
    "Judged by rules that check only the form of a response, not its truth or harm. No model judges. Vote to compare "
    "the rules with voters."
)
CRITERION = "form"
WORDS = RubricText(
    "Which answer has the better form?",
    "An answer has a good form where it says something, in few words and whole sentences, speaks for itself alone, and "
    "repeats neither the request nor itself.\n\nWhether it is true, or does harm, is another question.",
    scale_low=0,
    scale_high=100,
)
"""The scale is so fine that two words more or less decide: answers here have few."""
UNTRAINED = "before training"
SPLIT = "eval"
MAX_PROMPTS = 50
SEED = 1


@transaction.atomic
def get_or_create_tournament(experiment: Experiment) -> Tournament | None:
    """Return the experiment's tournament with the rules' verdicts; create it unless it exists. Return None if fewer
    than two contestants have answers."""
    if existing := find_tournament(experiment):
        return existing
    entries = list(_entries(experiment))
    if len(entries) < 2:
        return None
    new = Tournament(owner=experiment.owner, name=NAME, question=QUESTION, seed=SEED)
    tournament = create_tournament(new, entries, [_rubric(experiment.owner)], MAX_PROMPTS)
    judge_all(tournament, rules_judge())
    return tournament


def find_tournament(experiment: Experiment) -> Tournament | None:
    """Return the existing tournament of the experiment's runs, even if it is in the trash."""
    tournaments = Tournament.objects.filter(name=NAME, owner=experiment.owner, contestants__run__experiment=experiment)
    return tournaments.order_by("pk").first()


def board(tournament: Tournament) -> str:
    """Store the tournament's leaderboard as it is now, and return it as text: the cautions first, then the standings in
    columns."""
    stored = boards.save_board(tournament, tournament.rubrics.get()).board
    standings = standings_table(stored).select(
        contestant="contestant", points="rating", interval="95 % interval", ranks="rank", votes="votes"
    )
    return "\n".join([*stored["board"]["sentences"], table_text(standings)])


def _entries(experiment: Experiment) -> Iterator[Entry]:
    """Yield each training at its last whole evaluation, and the common base model at step 0 of one of them."""
    trainings = experiment.runs.trainings()
    greedy = Response.objects.filter(run__in=trainings, split=SPLIT, sample=0).order_by("run")
    evaluated = list_evaluated_steps(trainings, SPLIT).items()
    last = {pk: last_step.step for pk, steps in evaluated if (last_step := choose_last_step(steps)) is not None}
    yield from (Entry(run, last[run.pk], SPLIT) for run in trainings.filter(pk__in=last).order_by("pk"))
    trained = [pk for pk, step in last.items() if step > 0]
    if before := greedy.filter(step=0, run__in=trained).select_related("run").first():
        yield Entry(before.run, 0, SPLIT, given_name=UNTRAINED)


def _rubric(owner: User) -> Rubric:
    criterion, _ = Criterion.objects.get_or_create(slug=CRITERION, defaults={"owner": owner})
    return criterion.newest() or next_version(criterion, WORDS, owner)[0]
