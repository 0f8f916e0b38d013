"""`./manage.py judges`: model judges from a terminal: put to work, held against people, watched and stopped."""

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
from judging.judges.gold import CannotRead, keep
from judging.models import Assignment, GoldSet, Judge, Rubric, Tournament

SLICE_SECONDS = 10.0
OF_ONE = {
    "standing": "how far it is",
    "work": "asks here, until nothing is left",
    "transcript": "what was sent and what was said, as JSON lines",
    "pause": "makes no more calls",
    "cancel": "ends it",
}
"""What needs nothing but the number of an assignment."""


class Command(BaseCommand):
    """Everything of model judges that needs no form."""

    help = "Model judges: list, gold, start, calibrate, rules, standing, work, transcript, pause, go-on, cancel."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        verbs.add_parser("list", help="the judges that there are")
        gold = verbs.add_parser("gold", help="reads a file of pairs that people have judged")
        gold.add_argument("file", type=Path)
        gold.add_argument("--name", help="default: the file's")
        gold.add_argument("--owner", required=True, help="a user's name")
        gold.add_argument("--private", action="store_true", help="only the owner may see it")
        for verb, what in (("start", "tournament"), ("calibrate", "gold set")):
            begin = verbs.add_parser(verb, help=f"puts a judge to work on a {what}; the server's worker does it")
            begin.add_argument("judge", type=int, help="its number, as in its address")
            begin.add_argument("on", type=int, help=f"number of the {what}")
            begin.add_argument("--cap", type=_amount, required=True, help="never more is spent; 0 for a free judge")
            begin.add_argument("--criterion", action="append", default=[], help="only this one; may be repeated")
            begin.add_argument("--one-order", action="store_true", help="each pair once, in a seeded order")
            begin.set_defaults(ask_twice=False)
            if verb == "start":
                begin.add_argument("--ask-twice", action="store_true", help="5 in 100 a second time")
        rules = verbs.add_parser("rules", help="judges a tournament by rules, with no model")
        rules.add_argument("on", type=int, help="number of the tournament")
        for verb, what in OF_ONE.items():
            verbs.add_parser(verb, help=what).add_argument("assignment", type=int)
        go_on = verbs.add_parser("go-on", help="lets one go on that was paused, halted or done")
        go_on.add_argument("assignment", type=int)
        go_on.add_argument("--cap", type=_amount, help="another cap")
        go_on.add_argument("--again", action="store_true", help="asks anew what gave no verdict")

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
            raise CommandError(f"There is nobody of the name {options['owner']!r}.")
        file: Path = options["file"]
        try:
            data = file.read_bytes()
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}") from error
        made = keep(owner, (options["name"] or file.stem)[:200], data, is_private=options["private"])
        self.stdout.write(f"Gold set {made.pk}: {made.pairs.count()} pairs.")

    def _start(self, options: dict[str, Any]) -> None:
        tournament = _found(Tournament, options["on"])
        self._begin(options, list(tournament.rubrics.select_related("criterion")), tournament=tournament)

    def _calibrate(self, options: dict[str, Any]) -> None:
        newest = Rubric.objects.values("criterion").annotate(newest=Max("pk")).values("newest")
        rubrics = list(Rubric.objects.filter(pk__in=newest).select_related("criterion"))
        gold = _found(GoldSet, options["on"])
        known = {slug for expected in gold.pairs.values_list("expected", flat=True) for slug in expected}
        self._begin(options, [rubric for rubric in rubrics if rubric.criterion.slug in known], gold_set=gold)

    def _begin(self, options: dict[str, Any], rubrics: list[Rubric], **on: Any) -> None:
        asked = set(options["criterion"])
        names = {rubric.criterion.slug for rubric in rubrics}
        if asked - names:
            raise CommandError(f"The criteria are {', '.join(sorted(names))}, not {', '.join(sorted(asked - names))}.")
        judge = _found(Judge, options["judge"])
        chosen = [rubric for rubric in rubrics if not asked or rubric.criterion.slug in asked]
        how = {"both_orders": not options["one_order"], "asks_twice": options["ask_twice"]}
        order = judge_runs.Order(judge, chosen, options["cap"], **how, **on)
        if judge.owner is None:
            raise CommandError(f"{judge} is asked nothing: ./manage.py judges rules")
        made = judge_runs.start(order, judge.owner)
        self.stdout.write(f"Assignment {made.pk}: {made.planned} questions.")

    def _rules(self, options: dict[str, Any]) -> None:
        many = judge_runs.judge_all(_found(Tournament, options["on"]), rules_judge())
        self.stdout.write(f"{many} verdicts by rules, which look at the form of answers alone.")

    def _standing(self, options: dict[str, Any]) -> None:
        self._tell(_found(Assignment, options["assignment"]))

    def _work(self, options: dict[str, Any]) -> None:
        row = _found(Assignment, options["assignment"])
        while (left := judge_runs.work(row, SLICE_SECONDS)) is not None:
            self._tell(row)
            time.sleep(max(left, 1.0))
        self._tell(row)

    def _transcript(self, options: dict[str, Any]) -> None:
        for line in judge_runs.transcript(_found(Assignment, options["assignment"])):
            self.stdout.write(json.dumps(line, ensure_ascii=False))

    def _pause(self, options: dict[str, Any]) -> None:
        judge_runs.pause(_found(Assignment, options["assignment"]))

    def _cancel(self, options: dict[str, Any]) -> None:
        judge_runs.cancel(_found(Assignment, options["assignment"]))

    def _go_on(self, options: dict[str, Any]) -> None:
        judge_runs.go_on(_found(Assignment, options["assignment"]), options["cap"], again=options["again"])

    def _tell(self, row: Assignment) -> None:
        row.refresh_from_db()
        one = judge_runs.standing(row)
        said = f"{row.state}: {one.ended} of {one.planned} asked: {one.done} judged, {one.refused} refused, "
        said += f"{one.failed} failed, {one.unparsed} not understood; {row.spent:f} spent of {row.cap:f}"
        self.stdout.write(said + (f" ({row.reason})" if row.reason else ""))


def _amount(said: str) -> Decimal:
    try:
        amount = Decimal(said)
    except InvalidOperation:
        raise ValueError(said) from None
    if not amount.is_finite() or amount < 0:
        raise ValueError(said)
    return amount


def _found(kind: Any, pk: int) -> Any:
    row = kind.objects.filter(pk=pk).first()
    if row is None:
        raise CommandError(f"There is no {kind._meta.verbose_name} {pk}.")
    return row
