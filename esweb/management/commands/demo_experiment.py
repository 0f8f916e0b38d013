"""`./manage.py demo_experiment`: launch the demonstration's runs on a running esweb, and wait for them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse
from redis.exceptions import RedisError

from esweb.bootstrap.prepare import first_user
from esweb.celery import app
from esweb.demo import experiment, tournament
from esweb.demo.results import EvaluationOutcome, Outcome, ProbeOutcome, TrainingOutcome, outcomes
from esweb.demo.tables import flag_lines, tables
from runs.flags import check_now
from runs.kinds import kind_of
from runs.models import Experiment, Run

LOOK_SECONDS = 1.0
WORKER_SECONDS = 180.0
VERDICT = "Every run succeeded and every reward rose."
SAFE_VERDICT = (
    "Every run succeeded. Rewards of conciseness rose; for safety λ moved, and safe answers rose or were all."
)
EVALUATED_VERDICT = "Every evaluation succeeded and recorded each of its steps."
PROBED_VERDICT = "Every probe succeeded and recorded each of its parts."


class Command(BaseCommand):
    """The experiments of `./manage.py demo`, which runs this command as one of its parts."""

    help = "Launch the demo experiment on a running esweb and wait until it finishes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--preset", choices=list(experiment.PLANS), default="tiny", help="model to train")
        parser.add_argument("--once", action="store_true", help="do nothing if the experiment already exists")
        parser.add_argument(
            "--deadline", type=float, default=60.0, metavar="MINUTES", help="give up after this many minutes"
        )
        parser.add_argument("--site", default="", metavar="URL", help="address of esweb, for printed links")

    def handle(self, *, preset: str, once: bool, deadline: float, site: str, **options: Any) -> None:
        self.site = site
        plan, give_up_at = experiment.PLANS[preset], time.monotonic() + 60 * deadline
        if once and (existing := experiment.find_existing(plan)):
            self.print_lines(f"The experiment {existing.name!r} already exists: open it on the home page.")
            self.complete(plan, existing, give_up_at)
            return
        launched = self.launch(plan, first_user())
        ended = self.wait(Run.objects.filter(experiment__in=launched).order_by("pk"), give_up_at)
        ended += self.examine_trainings(plan, launched, give_up_at)
        self.print_lines("", *tables(ended), *flag_lines(ended), "")
        self.judge(launched[0])
        if failing := [f"{outcome.title} {outcome.failure_reason}" for outcome in ended if outcome.failure_reason]:
            self.print_lines("Failed checks:", *failing)
            sys.exit(1)
        is_safety = any(isinstance(outcome, TrainingOutcome) and outcome.is_safety for outcome in ended)
        self.print_lines(SAFE_VERDICT if is_safety else VERDICT)
        if any(isinstance(outcome, EvaluationOutcome) for outcome in ended):
            self.print_lines(EVALUATED_VERDICT)
        if any(isinstance(outcome, ProbeOutcome) for outcome in ended):
            self.print_lines(PROBED_VERDICT)

    def complete(self, plan: experiment.Plan, existing: Experiment, give_up_at: float) -> None:
        """Launch the evaluations and probes that an existing experiment lacks, once its trainings have ended, and judge
        it."""
        trainings = existing.runs.trainings().order_by("pk")
        if experiment.lacks_follow_ups(plan, existing):
            self.await_worker()
            self.wait(trainings, give_up_at)
            ended = self.examine_trainings(plan, [existing], give_up_at)
            self.print_lines("", *tables(ended), *flag_lines(ended), "")
        if all(outcome.has_ended for outcome in outcomes(trainings)):
            self.judge(existing)

    def launch(self, plan: experiment.Plan, person: User) -> list[Experiment]:
        """Create the model and launch the runs. Raise CommandError if that cannot work."""
        self.await_worker()
        self.print_lines(f"Building the {plan.model} model (only once)")
        try:
            experiment.make(plan.model)
        except experiment.ModelFailed as error:
            raise CommandError(str(error)) from error
        launched = experiment.launch(plan, person)
        for launched_experiment in launched:
            self.print_lines(
                f"Launched {launched_experiment.runs.count()} runs for the question: {launched_experiment.question}"
            )
        self.print_lines(f"At most {settings.LOCAL_SLOTS} of them run at the same time.")
        return launched

    def await_worker(self) -> None:
        """Return once a worker answers. Raise CommandError if none does: runs would wait for ever."""
        give_up_at = time.monotonic() + WORKER_SECONDS
        while not self.worker_answers():
            if time.monotonic() > give_up_at:
                raise CommandError(f"No worker responded within {WORKER_SECONDS:.0f} s. Is `./manage.py up` running?")

    def worker_answers(self) -> bool:
        """Ping all workers, for two seconds."""
        try:
            return bool(app.control.ping(timeout=2))
        except (RedisError, OSError) as error:
            raise CommandError(f"The queue does not answer: {error}. Is `./manage.py up` running?") from error

    def examine_trainings(
        self, plan: experiment.Plan, launched: Sequence[Experiment], give_up_at: float
    ) -> list[Outcome]:
        """Launch the planned evaluations and probes of trainings that have ended, and wait for them."""
        examinations = experiment.examine_trainings(plan, launched)
        if evaluations := [run for run in examinations if not kind_of(run.method).has_probe_results]:
            self.print_lines(f"Launched {len(evaluations)} evaluations: pass@k, KL and what the trainings forget.")
        if probes := [run for run in examinations if kind_of(run.method).has_probe_results]:
            self.print_lines(f"Launched {len(probes)} probe: what the weights of the trainings say.")
        return self.wait(examinations, give_up_at) if examinations else []

    def wait(self, runs: Iterable[Run], give_up_at: float) -> list[Outcome]:
        """Print changes until all runs have ended. Raise CommandError when the time is up."""
        keys = [run.pk for run in runs]
        printed: dict[int, str] = {}
        while True:
            results = outcomes(Run.objects.filter(pk__in=keys).order_by("pk"))
            for outcome in results:
                if printed.get(outcome.run.pk) != (line := outcome.line()):
                    printed[outcome.run.pk] = line
                    self.print_lines(line)
            if all(outcome.has_ended for outcome in results):
                check_now(outcome.run for outcome in results)
                return outcomes(outcome.run for outcome in results)
            if time.monotonic() > give_up_at:
                self.print_lines(*tables(results))
                raise CommandError("The deadline (--deadline) has passed before every run finished.")
            time.sleep(LOOK_SECONDS)

    def judge(self, ended: Experiment) -> None:
        """Let the runs' answers meet in a tournament, judge it immediately, and print its address."""
        judged = tournament.get_or_create_tournament(ended)
        if judged is None:
            self.print_lines("There is no tournament: fewer than two runs have responses.")
        elif judged.deleted_at is None:
            pairs = judged.comparisons.count()
            self.print_lines(f"{pairs} pairs of responses, judged in both orders by rules about form, not by a model:")
            self.print_lines("", tournament.board(judged), "")
            self.print_lines(f"Leaderboard: {self.site}{reverse('tournament-board', args=[judged.pk])}")

    def print_lines(self, *lines: str) -> None:
        """Print lines and flush, so that they appear immediately even in a file."""
        for line in lines:
            self.stdout.write(line)
        self.stdout.flush()
