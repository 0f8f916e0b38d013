"""`manage.py cluster add|set|list|show|test|orphans`: clusters from the command line."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.clusters import KINDS, add_cluster, change_cluster, end_orphan, in_words, orphans
from runs.clusters.connection_test import advance_test, begin_test, report_steps
from runs.clusters.settings import EXAMPLES
from runs.models import Cluster
from workers.config import ConfigError
from workers.config.shallow_json import loads
from workers.executors.base import Unreachable

BETWEEN_LOOKS_SECONDS = 0.5


class Command(BaseCommand):
    """Adds, changes and shows clusters, with the sentences of the page."""

    help = "Adds, changes and shows clusters."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|set|list|show|test|orphans")
        add = verbs.add_parser("add", help="add a cluster")
        add.add_argument("name", help="what compute.cluster calls it")
        add.add_argument("kind", choices=KINDS)
        change = verbs.add_parser("set", help="change keys of its config; a key without a value is taken out")
        change.add_argument("name")
        for verb in (add, change):
            verb.add_argument("pairs", nargs="*", metavar="KEY=VALUE", help=f"text or JSON; as in {EXAMPLES['slurm']}")
        verbs.add_parser("list", help="name, kind, and when it last answered, one a line")
        verbs.add_parser("test", help="send a small job there, and tell of each step").add_argument("name")
        verbs.add_parser("show", help="its config as JSON").add_argument("name")
        stray = verbs.add_parser("orphans", help="jobs there that bear our names and that nobody here waits for")
        stray.add_argument("name")
        stray.add_argument("--cancel", metavar="KEY", default="", help="cancel this one of them")

    def handle(self, **options: Any) -> None:
        given = Namespace(**options)
        verbs: dict[str, Callable[[Namespace], None]] = {
            "add": self._add, "set": self._set, "list": self._list, "show": self._show, "test": self._test,
            "orphans": self._orphans,
        }  # fmt: skip
        try:
            verbs[given.verb](given)
        except (ConfigError, Unreachable) as error:
            raise CommandError(str(error)) from error

    def _add(self, given: Namespace) -> None:
        cluster = add_cluster(given.name, given.kind, _changed({}, given.pairs))
        self.stdout.write(f"Added {cluster.name}. Runs name it in compute.cluster.")

    def _set(self, given: Namespace) -> None:
        cluster = _cluster(given.name)
        change_cluster(cluster, _changed(cluster.config, given.pairs))
        self._show(given)

    def _list(self, given: Namespace) -> None:
        for cluster in Cluster.objects.order_by("name"):
            self.stdout.write(f"{cluster.name}\t{cluster.kind}\t{_state(cluster)}")

    def _orphans(self, given: Namespace) -> None:
        cluster = _cluster(given.name)
        if given.cancel and not end_orphan(cluster, given.cancel):
            raise CommandError(
                f"There is no orphan {given.cancel!r}; there are: {in_words(orphans(cluster)) or 'none'}"
            )
        for key, job in sorted(orphans(cluster).items()):
            self.stdout.write(f"{key}\t{job.native_id}\t{job.native}\t{job.reason}")

    def _test(self, given: Namespace) -> None:
        """Test a cluster to its end, with or without a running worker. Raise CommandError if a step fails."""
        test = begin_test(_cluster(given.name), None)
        written = 0
        while True:
            has_ended = advance_test(test)
            reports = [r for r in report_steps(test) if r.state in ("done", "failed")]
            for report in reports[written:]:
                self.stdout.write(f"{report.state}\t{report.name}\t{report.message}")
            written = len(reports)
            if has_ended:
                break
            time.sleep(BETWEEN_LOOKS_SECONDS)
        if test.has_failed:
            raise CommandError(f"The test of {given.name} failed at the step {reports[-1].name}.")

    def _show(self, given: Namespace) -> None:
        self.stdout.write(json.dumps(_cluster(given.name).config, indent=2, ensure_ascii=False))


def _state(cluster: Cluster) -> str:
    if silent := cluster.unreachable_since_at:
        return f"does not answer since {silent:%Y-%m-%d %H:%M:%S} UTC"
    return f"answered {cluster.answered_at:%Y-%m-%d %H:%M:%S} UTC" if cluster.answered_at else "not asked yet"


def _cluster(name: str) -> Cluster:
    try:
        return Cluster.objects.get(name=name)
    except Cluster.DoesNotExist:
        names = ", ".join(Cluster.objects.order_by("name").values_list("name", flat=True))
        raise CommandError(f"There is no cluster {name!r}; there are: {names or 'none yet'}") from None


def _changed(config: dict[str, Any], pairs: list[str]) -> dict[str, Any]:
    changed = dict(config)
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign:
            raise CommandError(f"{pair!r} is no KEY=VALUE")
        if text:
            changed[key] = _value(text)
        else:
            changed.pop(key, None)
    return changed


def _value(text: str) -> Any:
    """JSON where it is some, else the text itself."""
    try:
        return loads(text)
    except ValueError:
        return text
