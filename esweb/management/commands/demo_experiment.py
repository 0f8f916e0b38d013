"""`./manage.py demo_experiment`: launches the demonstration's runs on an esweb that is up, and waits for them."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse
from redis.exceptions import RedisError

from esweb.bootstrap.prepare import first_user
from esweb.celery import app
from esweb.demo import experiment, tournament
from esweb.demo.results import Outcome, outcomes, table
from runs.models import Experiment, Run

LOOK_SECONDS = 1.0
WORKER_SECONDS = 180.0
VERDICT = "Every run succeeded and every reward rose."
SAFE_VERDICT = (
    "Every run succeeded. Rewards of conciseness rose; for safety λ moved, and safe answers rose or were all."
)


class Command(BaseCommand):
    """The experiments of `./manage.py demo`, which runs this beside everything else."""

    help = "Launches the demonstration's experiment on a running esweb, and waits for its end."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--preset", choices=list(experiment.PLANS), default="tiny", help="which model to train")
        parser.add_argument("--once", action="store_true", help="do nothing where there is one already")
        parser.add_argument("--deadline", type=float, default=60.0, metavar="MINUTES", help="give up after this long")
        parser.add_argument("--site", default="", metavar="URL", help="where esweb answers, for links in what is said")

    def handle(self, *, preset: str, once: bool, deadline: float, site: str, **options: Any) -> None:
        self.site = site
        if once and (found := experiment.existing()):
            self.say(f"The experiment {found.name!r} is there already: open it on the first page.")
            if all(outcome.has_ended for outcome in outcomes(found.runs.all())):
                self.judge(found)
            return
        give_up_at = time.monotonic() + 60 * deadline
        launched = self.launch(experiment.PLANS[preset], first_user())
        ended = self.wait(launched, give_up_at)
        self.say("", table(ended), "")
        self.judge(launched[0])
        if failing := [f"{o.run.preset} seed {o.run.seed} {o.failing}" for o in ended if o.failing]:
            self.say("Not as it should be:", *failing)
            sys.exit(1)
        self.say(SAFE_VERDICT if any(outcome.is_safety for outcome in ended) else VERDICT)

    def launch(self, plan: experiment.Plan, person: User) -> list[Experiment]:
        """Makes the model and launches the runs. Raises CommandError where that cannot work."""
        self.await_worker()
        self.say(f"Making the {plan.model} model, once")
        try:
            experiment.make(plan.model)
        except experiment.ModelFailed as error:
            raise CommandError(str(error)) from error
        launched = experiment.launch(plan, person)
        for asked in launched:
            self.say(f"Launched {asked.runs.count()} runs that ask: {asked.question}")
        self.say(f"{settings.LOCAL_SLOTS} go at a time.")
        return launched

    def await_worker(self) -> None:
        """Returns once a worker answers. Raises CommandError where none does: runs would wait for ever."""
        give_up_at = time.monotonic() + WORKER_SECONDS
        while not self.worker_answers():
            if time.monotonic() > give_up_at:
                raise CommandError(f"No worker took a job in {WORKER_SECONDS:.0f} s. Is `./manage.py up` running?")

    def worker_answers(self) -> bool:
        """Asks all workers, for two seconds."""
        try:
            return bool(app.control.ping(timeout=2))
        except (RedisError, OSError) as error:
            raise CommandError(f"The queue does not answer: {error}. Is `./manage.py up` running?") from error

    def wait(self, launched: Sequence[Experiment], give_up_at: float) -> list[Outcome]:
        """Says what changes until all runs have ended. Raises CommandError when the time is up."""
        said: dict[int, str] = {}
        while True:
            found = outcomes(Run.objects.filter(experiment__in=launched).order_by("pk"))
            for outcome in found:
                if said.get(outcome.run.pk) != (line := outcome.line()):
                    said[outcome.run.pk] = line
                    self.say(line)
            if all(outcome.has_ended for outcome in found):
                return found
            if time.monotonic() > give_up_at:
                self.say(table(found))
                raise CommandError("The time is up (--deadline), and not every run has ended.")
            time.sleep(LOOK_SECONDS)

    def judge(self, ended: Experiment) -> None:
        """Lets what the runs answered meet in a tournament, which is judged at once, and says where it stands."""
        held = tournament.hold(ended)
        if held is None:
            self.say("No two runs have answers that could meet.")
        elif held.deleted_at is None:
            pairs = held.comparisons.count()
            self.say(f"{pairs} pairs of answers, judged both ways round by rules of form alone, by no model:")
            self.say("", tournament.board(held), "")
            self.say(f"The board: {self.site}{reverse('tournament-board', args=[held.pk])}")

    def say(self, *lines: str) -> None:
        """Seen at once, also where it goes to a file."""
        for line in lines:
            self.stdout.write(line)
        self.stdout.flush()
