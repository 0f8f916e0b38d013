"""`./manage.py createtoken USER --scope launch`: create a token for scripts and print it once."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from runs import access
from runs.management.quick_command import QuickCommand
from runs.models import Run
from runs.models.token import SCOPES


class Command(QuickCommand):
    """Command that issues an API token."""

    help = "Create a token for the API and print it once. Send it as: Authorization: Bearer esw_…"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="name of the user that the token acts for")
        parser.add_argument("--scope", required=True, help=f"scope of the token: {', '.join(SCOPES)}")
        parser.add_argument("--days", type=int, default=access.DAYS, help="days until it expires")
        parser.add_argument("--name", default="", help="purpose of the token")
        parser.add_argument("--run", default="", help="uid of the run that an ingest token is bound to")

    def handle(self, *, user: str, scope: str, days: int, name: str, run: str, **options: Any) -> None:
        person = _user(user)
        try:
            _, text = access.issue(person, scope, days=days, name=name, run=_run(person, run) if run else None)
        except access.CannotIssue as error:
            raise CommandError(str(error)) from error
        self.stderr.write(f"A token of scope {scope} for {user}, valid for {days} days. It is shown only once:")
        self.stdout.write(text)


def _user(name: str) -> User:
    try:
        return User.objects.get(username=name)
    except User.DoesNotExist:
        names = ", ".join(User.objects.order_by("username").values_list("username", flat=True)[:20])
        raise CommandError(
            f"Unknown user {name!r}; the users are: {names or 'none yet (./manage.py createsuperuser)'}"
        ) from None


def _run(person: User, uid: str) -> Run:
    run = Run.objects.visible_to(person).filter(uid=uid).first()
    if run is None:
        raise CommandError(f"There is no run {uid!r} that {person.get_username()} may see")
    return run
