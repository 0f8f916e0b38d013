"""A site with rows of every kind, as many as a test needs."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from judging.boards import save_board
from judging.judges import create_judge
from judging.models import GoldSet, Judge, Tournament
from judging.voting import create_invitations
from runs.models import ApiToken, Experiment, Run, SavedView, Sweep
from runs.service_registry import commands
from runs.service_registry.commands import Registration
from tests import soak_plugin
from tests.conftest import person
from tests.judging.bulk_verdicts import cast, first_votes
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import make_tournament, rubric
from tests.runs.audit_runs import complete_audit
from tests.runs.external_runs import make_external_run
from tests.runs.full_runs import a_bit_of_everything, record
from tests.runs.many_runs import LONG_NAME, crowd

MAX_OTHER_ROWS = 100
SWEEP_RUNS = 60


def crowd_size(usual: int) -> int:
    """Return ten thousand in `make soak PART=pages`, or `usual` outside a soak."""
    return 10_000 if soak_plugin.SECONDS else usual


def fill(experiment: Experiment, count: int, first: int = 0, max_other_rows: int = MAX_OTHER_ROWS) -> None:
    """Create `count` runs, the first with records of every kind, and up to `max_other_rows` rows of other kinds."""
    runs = crowd(experiment, count, first)
    for n in range(first, first + min(count, max_other_rows)):
        make_rows(experiment, n)
    if first == 0:
        make_run_sweep(experiment, runs[:SWEEP_RUNS])
    deleted = crowd(experiment, min(count, max_other_rows), first + 20_000)
    Run.objects.filter(pk__in=[run.pk for run in deleted]).update(deleted_at=timezone.now())
    if first == 0 and runs:
        record(runs[0], a_bit_of_everything())
        make_external_run(Experiment.objects.create(name="Reported", owner=experiment.owner), name="Elsewhere")
        complete_audit(Experiment.objects.create(name="Audited", owner=experiment.owner))
        make_judged_tournament(experiment.owner)
    with connection.cursor() as cursor:
        # PostgreSQL does this automatically within a minute: without it the planner believes the tables to be empty.
        cursor.execute("ANALYZE")


def make_rows(experiment: Experiment, n: int) -> None:
    """Create one row of each kind, with names that end in `n`."""
    owner = experiment.owner
    Experiment.objects.create(name=f"Experiment {n}", owner=owner)
    Experiment.objects.create(name=f"Thrown {n}", owner=owner, deleted_at=timezone.now())
    SavedView.objects.create(owner=owner, name=f"View {n}", page="experiment", experiment=experiment)
    ApiToken.objects.create(user=owner, name=f"t{n}", scope="read", digest=f"{n}", expires_at=timezone.now())
    commands.register(
        owner, Registration("scorer", f"scorer-{n}", "0123456789", f"http://localhost:{8000 + n}", "/health")
    )
    person(f"person {n}")
    Tournament.objects.create(name=f"Tournament {n}", owner=owner, seed=n)
    create_judge(owner, Judge(name=f"Judge {n}", base_url="http://127.0.0.1:9/v1", model="m"))
    rubric(f"criterion-{n}", owner)
    GoldSet.objects.create(name=f"gold {n}", owner=owner)


def make_run_sweep(experiment: Experiment, runs: list[Run]) -> None:
    """Create a sweep of these runs, each of them a cell."""
    values = [n / 1000 for n in range(1, len(runs) + 1)] or [0.1]
    sweep = Sweep.objects.create(
        experiment=experiment, name=LONG_NAME[:200], base={}, grid={"es.sigma": values}, seeds=[0], at_once=4,
        created_by=experiment.owner,
    )  # fmt: skip
    for run, value in zip(runs, values, strict=False):
        Run.objects.filter(pk=run.pk).update(sweep=sweep, cell={"es.sigma": value})


def make_judged_tournament(owner: User) -> Tournament:
    """Create a tournament with verdicts, a leaderboard and an invitation, in an experiment of its own."""
    tournament = make_tournament(owner, Experiment.objects.create(name="Judged", owner=owner), prompts=8)
    cast(tournament, rubric("helpfulness"), first_votes(make_random_votes(120, contestants=3, prompts=8)))
    save_board(tournament, rubric("helpfulness"))
    create_invitations(tournament, owner, ["Dee"])
    return tournament
