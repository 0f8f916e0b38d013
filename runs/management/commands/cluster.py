"""`manage.py cluster add|set|list|show|test|orphans|keys`: clusters from the command line."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError, CommandParser

from runs.clusters import KINDS, add_cluster, change_cluster, describe_jobs, end_orphan, find_orphans
from runs.clusters.connection_test import advance_test, begin_test, report_steps
from runs.clusters.settings import EXAMPLES, is_text_key
from runs.clusters.settings.reference import reference
from runs.management.quick_command import QuickCommand
from runs.models import Cluster
from workers.config import ConfigError
from workers.config.shallow_json import loads
from workers.executors.base import Unreachable

POLL_SECONDS = 0.5


class Command(QuickCommand):
    """Command that adds, changes and shows clusters, with the same sentences as the page."""

    help = "Add, change and show clusters."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|set|list|show|test|orphans|keys")
        add = verbs.add_parser("add", help="add a cluster")
        add.add_argument("name", help="its name in compute.cluster")
        add.add_argument("kind", choices=KINDS)
        change = verbs.add_parser("set", help="change keys of its config; a key without a value is removed")
        change.add_argument("name")
        for verb in (add, change):
            verb.add_argument("pairs", nargs="*", metavar="KEY=VALUE", help=f"text or JSON; as in {EXAMPLES['slurm']}")
        verbs.add_parser("list", help="list the clusters: name, kind and time of the last reply, one per line")
        verbs.add_parser("test", help="run a small job on the cluster and report each step").add_argument("name")
        verbs.add_parser("show", help="show its config as JSON").add_argument("name")
        verbs.add_parser("keys", help="list the keys of the configs of all kinds, as in docs/clusters.md")
        stray = verbs.add_parser(
            "orphans", help="list jobs on the cluster that have names of esweb but belong to no run here"
        )
        stray.add_argument("name")
        stray.add_argument("--cancel", metavar="KEY", default="", help="cancel this job")

    def handle(self, **options: Any) -> None:
        args = Namespace(**options)
        verbs: dict[str, Callable[[Namespace], None]] = {
            "add": self._add, "set": self._set, "list": self._list, "show": self._show, "test": self._test,
            "orphans": self._orphans, "keys": lambda _: self.stdout.write(reference(), ending=""),
        }  # fmt: skip
        try:
            verbs[args.verb](args)
        except (ConfigError, Unreachable) as error:
            raise CommandError(str(error)) from error

    def _add(self, args: Namespace) -> None:
        cluster = add_cluster(args.name, args.kind, _apply_pairs({}, args.pairs, args.kind))
        self.stdout.write(f"Added {cluster.name}. Runs name it in compute.cluster.")

    def _set(self, args: Namespace) -> None:
        cluster = _cluster(args.name)
        change_cluster(cluster, _apply_pairs(cluster.config, args.pairs, cluster.kind))
        self._show(args)

    def _list(self, args: Namespace) -> None:
        for cluster in Cluster.objects.order_by("name"):
            self.stdout.write(f"{cluster.name}\t{cluster.kind}\t{_state(cluster)}")

    def _orphans(self, args: Namespace) -> None:
        cluster = _cluster(args.name)
        if args.cancel and not end_orphan(cluster, args.cancel):
            raise CommandError(
                f"Unknown orphan {args.cancel!r}; the orphans are: {describe_jobs(find_orphans(cluster)) or 'none'}"
            )
        for key, job in sorted(find_orphans(cluster).items()):
            self.stdout.write(f"{key}\t{job.native_id}\t{job.native}\t{job.reason}")

    def _test(self, args: Namespace) -> None:
        """Test a cluster to its end, with or without a running worker. Raise CommandError if a step fails."""
        test = begin_test(_cluster(args.name), None)
        written = 0
        while True:
            has_ended = advance_test(test)
            reports = [r for r in report_steps(test) if r.state in ("done", "failed")]
            for report in reports[written:]:
                self.stdout.write(f"{report.state}\t{report.name}\t{report.message}")
            written = len(reports)
            if has_ended:
                break
            time.sleep(POLL_SECONDS)
        if test.has_failed:
            raise CommandError(f"The test of {args.name} failed at step {reports[-1].name}.")

    def _show(self, args: Namespace) -> None:
        self.stdout.write(json.dumps(_cluster(args.name).config, indent=2, ensure_ascii=False))


def _state(cluster: Cluster) -> str:
    if silent := cluster.unreachable_since_at:
        return f"unreachable since {silent:%Y-%m-%d %H:%M:%S} UTC"
    return f"replied {cluster.answered_at:%Y-%m-%d %H:%M:%S} UTC" if cluster.answered_at else "not checked yet"


def _cluster(name: str) -> Cluster:
    try:
        return Cluster.objects.get(name=name)
    except Cluster.DoesNotExist:
        names = ", ".join(Cluster.objects.order_by("name").values_list("name", flat=True))
        raise CommandError(f"Unknown cluster {name!r}; the clusters are: {names or 'none yet'}") from None


def _apply_pairs(config: dict[str, Any], pairs: list[str], kind: str) -> dict[str, Any]:
    changed = dict(config)
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign:
            raise CommandError(f"{pair!r} must have the form KEY=VALUE")
        if text:
            changed[key] = _value(text, is_text_key(key, kind))
        else:
            changed.pop(key, None)
    return changed


def _value(text: str, is_text: bool) -> Any:
    """Parse the text as JSON; return the text itself if it is not JSON, and digits as they are for a key whose value is
    text, such as account=12345 or gpu_type=3090."""
    try:
        value = loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) or not is_text else text
