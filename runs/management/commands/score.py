"""`manage.py score RUN --scorer NAME`: store a scorer's rewards and costs of a run's responses, next to the run's
own."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from runs.management.quick_command import QuickCommand
from runs.models import Run
from runs.responses.scoring import choices, score, scorer_for, unscored
from workers.scorer.client import Scorer, ScorerClient, ScorerFailed, ScorerRefused

MAX_NAME_LENGTH = 100
TRIES, PATIENCE_SECONDS = 3, 300.0


class Command(QuickCommand):
    """Command that scores responses afterwards; responses with a score of this scorer are not sent again."""

    help = "Score a run's responses with a registered scorer, or one at an address. Safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", help="uid of the run")
        parser.add_argument("--scorer", required=True, help="registered name of the scorer; with --url any name")
        parser.add_argument("--step", type=int, help="only the responses of this step; default: all steps")
        parser.add_argument("--url", default="", help="address of a scorer that is not registered")
        parser.add_argument("--token-file", default="", help="file with the token for that address")

    def handle(self, *, run: str, scorer: str, step: int | None, url: str, token_file: str, **_: Any) -> None:
        scored_run = _run(run)
        if not 0 < len(scorer) <= MAX_NAME_LENGTH:
            raise CommandError(f"--scorer must be a name of 1 to {MAX_NAME_LENGTH} characters")
        client = _client(scored_run, scorer, url, token_file)
        answers, done = unscored(scored_run, scorer, step), 0
        if not (total := answers.count()):
            self.stdout.write(f"{scorer} has scored all responses of {scored_run.name}.")
            return
        try:
            for done in score(answers, client, scorer):
                self.stdout.write(f"{done} of {total} responses scored")
        except ScorerFailed as error:
            raise CommandError(
                f"{error}. {done} of {total} responses are scored; repeat the command to continue."
            ) from error


def _run(uid: str) -> Run:
    run = Run.objects.filter(uid=uid, deleted_at__isnull=True).select_related("created_by").first()
    if run is None:
        raise CommandError(f"Unknown run {uid!r}")
    return run


def _client(run: Run, name: str, url: str, token_file: str) -> Scorer:
    try:
        if url:
            return ScorerClient(url, token_file=token_file)
        return scorer_for(run.created_by, name, TRIES, PATIENCE_SECONDS)
    except (ValueError, ScorerRefused) as error:
        raise CommandError(str(error)) from error
    except ScorerFailed as error:
        names = ", ".join(choices(run.created_by, run)) or "none now"
        message = f"There is no active scorer {name!r} that {run.created_by} may use; active scorers: {names}"
        raise CommandError(message) from error
