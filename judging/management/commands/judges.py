"""`./manage.py judges`: start, calibrate, watch and stop model judges from a terminal."""

from __future__ import annotations

import json
import time
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Max

from judging import judge_runs
from judging.judges import rules_judge
from judging.judges.gold import CannotRead, save_gold_set
from judging.models import Assignment, GoldSet, Judge, Rubric, Tournament

SLICE_SECONDS = 10.0
ASSIGNMENT_VERBS = {
    "standing": "print its progress",
    "work": "ask its questions in this process, until none is left",
    "transcript": "print all requests and replies, as JSON lines",
    "pause": "stop making calls",
    "cancel": "cancel it for good",
}
"""The verbs that need only the number of an assignment."""


class Command(BaseCommand):
    """Command for all functions of model judges that need no form."""

    help = "Model judges: list, gold, start, calibrate, rules, standing, work, transcript, pause, go-on, cancel."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        verbs.add_parser("list", help="list the judges")
        gold = verbs.add_parser("gold", help="read a file of pairs that humans have judged")
        gold.add_argument("file", type=Path)
        gold.add_argument("--name", help="default: the file's name")
        gold.add_argument("--owner", required=True, help="a user's name")
        gold.add_argument("--private", action="store_true", help="make it visible only to the owner")
        for verb, label in (("start", "tournament"), ("calibrate", "gold set")):
            begin = verbs.add_parser(verb, help=f"start a judge on a {label}; the server's worker asks it")
            begin.add_argument("judge", type=int, help="number of the judge, as in its address")
            begin.add_argument("on", type=int, help=f"number of the {label}")
            begin.add_argument(
                "--cap", type=_amount, required=True, help="the most that may be spent; 0 for a free judge"
            )
            begin.add_argument(
                "--criterion", action="append", default=[], help="use only this criterion; may be repeated"
            )
            begin.add_argument("--one-order", action="store_true", help="ask each pair once, in an order from the seed")
            begin.set_defaults(ask_twice=False)
            if verb == "start":
                begin.add_argument("--ask-twice", action="store_true", help="repeat 5 in 100 questions")
        rules = verbs.add_parser("rules", help="judge a tournament by rules, without a model")
        rules.add_argument("on", type=int, help="number of the tournament")
        for verb, label in ASSIGNMENT_VERBS.items():
            verbs.add_parser(verb, help=label).add_argument("assignment", type=int)
        go_on = verbs.add_parser("go-on", help="resume an assignment that was paused, halted or done")
        go_on.add_argument("assignment", type=int)
        go_on.add_argument("--cap", type=_amount, help="new cap")
        go_on.add_argument("--again", action="store_true", help="repeat questions without a verdict")

    def handle(self, *, verb: str, **options: Any) -> None:
        try:
            getattr(self, f"_{verb.replace('-', '_')}")(options)
        except (judge_runs.CannotAsk, CannotRead) as error:
            raise CommandError(str(error)) from error

    def _list(self, options: dict[str, Any]) -> None:
        rules_judge()
        for judge in Judge.objects.filter(retired_at=None).exclude(kind=Judge.Kind.IMPORTED).order_by("pk"):
            self.stdout.write(f"{judge.pk}  {judge.name}  {judge.model}  {judge.base_url}".rstrip())

    def _gold(self, options: dict[str, Any]) -> None:
        owner = User.objects.filter(username=options["owner"]).first()
        if owner is None:
            raise CommandError(f"There is no user named {options['owner']!r}.")
        file: Path = options["file"]
        try:
            data = file.read_bytes()
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}") from error
        gold_set = save_gold_set(owner, (options["name"] or file.stem)[:200], data, is_private=options["private"])
        self.stdout.write(f"Gold set {gold_set.pk}: {gold_set.pairs.count()} pairs.")

    def _start(self, options: dict[str, Any]) -> None:
        tournament = _get_row(Tournament, options["on"])
        self._begin(options, list(tournament.rubrics.select_related("criterion")), tournament=tournament)

    def _calibrate(self, options: dict[str, Any]) -> None:
        newest = Rubric.objects.values("criterion").annotate(newest=Max("pk")).values("newest")
        rubrics = list(Rubric.objects.filter(pk__in=newest).select_related("criterion"))
        gold = _get_row(GoldSet, options["on"])
        gold_slugs = {slug for expected in gold.pairs.values_list("expected", flat=True) for slug in expected}
        self._begin(options, [rubric for rubric in rubrics if rubric.criterion.slug in gold_slugs], gold_set=gold)

    def _begin(self, options: dict[str, Any], rubrics: list[Rubric], **target: Any) -> None:
        requested = set(options["criterion"])
        names = {rubric.criterion.slug for rubric in rubrics}
        if requested - names:
            raise CommandError(
                f"--criterion must be one of {', '.join(sorted(names))}, not {', '.join(sorted(requested - names))}."
            )
        judge = _get_row(Judge, options["judge"])
        selected = [rubric for rubric in rubrics if not requested or rubric.criterion.slug in requested]
        if judge.owner is None:
            raise CommandError(f"{judge} has no assignments: use ./manage.py judges rules")
        assignment = Assignment(
            judge=judge, cap=options["cap"], created_by=judge.owner, both_orders=not options["one_order"],
            asks_twice=options["ask_twice"], **target,
        )  # fmt: skip
        judge_runs.start(assignment, selected)
        self.stdout.write(f"Assignment {assignment.pk}: {assignment.planned} questions.")

    def _rules(self, options: dict[str, Any]) -> None:
        count = judge_runs.judge_all(_get_row(Tournament, options["on"]), rules_judge())
        self.stdout.write(f"{count} verdicts by rules, which look only at the form of responses.")

    def _standing(self, options: dict[str, Any]) -> None:
        self._report(_get_row(Assignment, options["assignment"]))

    def _work(self, options: dict[str, Any]) -> None:
        row = _get_row(Assignment, options["assignment"])
        while (wait_seconds := judge_runs.work(row, SLICE_SECONDS)) is not None:
            self._report(row)
            time.sleep(max(wait_seconds, 1.0))
        self._report(row)

    def _transcript(self, options: dict[str, Any]) -> None:
        for line in judge_runs.transcript(_get_row(Assignment, options["assignment"])):
            self.stdout.write(json.dumps(line, ensure_ascii=False))

    def _pause(self, options: dict[str, Any]) -> None:
        judge_runs.pause(_get_row(Assignment, options["assignment"]))

    def _cancel(self, options: dict[str, Any]) -> None:
        judge_runs.cancel(_get_row(Assignment, options["assignment"]))

    def _go_on(self, options: dict[str, Any]) -> None:
        judge_runs.resume(_get_row(Assignment, options["assignment"]), options["cap"], again=options["again"])

    def _report(self, row: Assignment) -> None:
        row.refresh_from_db()
        status = judge_runs.get_status(row)
        text = (
            f"{row.state}: {status.ended} of {status.planned} asked: {status.done} judged, {status.refused} refused, "
        )
        text += f"{status.failed} failed, {status.unparsed} unparsed; {row.spent:f} spent of {row.cap:f}"
        self.stdout.write(text + (f" ({row.reason})" if row.reason else ""))
        for missing in status.missing_reasons:
            self.stdout.write(f"  {missing.count} {missing.state}: {missing.reason}")
        if status.other_missing:
            self.stdout.write(f"  {status.other_missing} with other reasons: see the transcript")


def _amount(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise ValueError(text) from None
    if not amount.is_finite() or amount < 0:
        raise ValueError(text)
    return amount


def _get_row(kind: Any, pk: int) -> Any:
    row = kind.objects.filter(pk=pk).first()
    if row is None:
        raise CommandError(f"There is no {kind._meta.verbose_name} {pk}.")
    return row
