"""`manage.py score RUN --scorer NAME`: a scorer's rewards and costs of a run's answers, kept beside the run's own."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.models import Run
from runs.responses.scoring import choices, score, scorer_of, unscored
from workers.scorer.client import Scorer, ScorerClient, ScorerFailed, ScorerRefused

NAME_AT_MOST = 100
TRIES, PATIENCE_SECONDS = 3, 300.0


class Command(BaseCommand):
    """Scores answers afterwards; what is scored already is not asked again."""

    help = "Scores a run's answers with a registered scorer, or one at an address. Safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", help="uid of the run")
        parser.add_argument("--scorer", required=True, help="name of the scorer, as it registered; with --url any name")
        parser.add_argument("--step", type=int, help="only the answers of this step; default: of all steps")
        parser.add_argument("--url", default="", help="address of a scorer that is not registered")
        parser.add_argument("--token-file", default="", help="file with the token for that address")

    def handle(self, *, run: str, scorer: str, step: int | None, url: str, token_file: str, **_: Any) -> None:
        found = _run(run)
        if not 0 < len(scorer) <= NAME_AT_MOST:
            raise CommandError(f"--scorer must be a name of 1 to {NAME_AT_MOST} characters")
        client = _client(found, scorer, url, token_file)
        answers, done = unscored(found, scorer, step), 0
        if not (total := answers.count()):
            self.stdout.write(f"{scorer} has scored all answers of {found.name} that there are.")
            return
        try:
            for done in score(answers, client, scorer):
                self.stdout.write(f"{done} of {total} answers scored")
        except ScorerFailed as error:
            raise CommandError(f"{error}. {done} of {total} answers are scored; repeat this to go on.") from error


def _run(uid: str) -> Run:
    found = Run.objects.filter(uid=uid, deleted_at__isnull=True).select_related("created_by").first()
    if found is None:
        raise CommandError(f"There is no run {uid!r}")
    return found


def _client(run: Run, name: str, url: str, token_file: str) -> Scorer:
    try:
        if url:
            return ScorerClient(url, token_file=token_file)
        return scorer_of(run.created_by, name, TRIES, PATIENCE_SECONDS)
    except (ValueError, ScorerRefused) as error:
        raise CommandError(str(error)) from error
    except ScorerFailed as error:
        names = ", ".join(choices(run.created_by, run)) or "none now"
        said = f"There is no living scorer {name!r} that {run.created_by} may use; there are: {names}"
        raise CommandError(said) from error
