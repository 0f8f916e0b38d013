"""`manage.py demo`: `up`, and an experiment that shows what esweb is for."""

from __future__ import annotations

import socket
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from esweb.demo.experiment import PLANS
from esweb.management.commands import up
from esweb.supervisor import Part, Tree
from esweb.supervisor.listening_socket import address_of
from esweb.supervisor.processes import environment


class Command(up.Command):
    """Everything, and an experiment: a model created here, and runs of ES and GRPO on it."""

    help = "Start esweb and an experiment: does ES or GRPO learn to be concise, and what does it cost?"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--preset",
            choices=list(PLANS),
            default="tiny",
            help="plan; micro takes two minutes, tour evaluates what the trainings of tiny forget and probes their "
            "weights, geometry compares noise that tensors share with independent noise",
        )
        parser.add_argument(
            "--exit-when-done", action="store_true", help="stop when the experiment finishes; exit code 0 if it passed"
        )
        parser.add_argument(
            "--deadline", type=float, default=60.0, metavar="MINUTES", help="give up after this many minutes"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.preset, self.deadline = options["preset"], options["deadline"]
        self.exits_when_done = options["exit_when_done"]
        super().handle(*args, **options)

    def run(self, tree: Tree, listener: socket.socket) -> int:
        """Run `up` with the experiment as one more part; with --exit-when-done its exit code is ours."""
        self.start(tree, listener)
        part = self.experiment(address_of(listener))
        tree.start_part(part)
        tree.watch(until=lambda: self.exits_when_done and part.has_ended)
        return part.process.returncode if part.process else 1

    def experiment(self, site: str) -> Part:
        """Return the part that launches the experiment and waits for it."""
        argv = [sys.executable, str(up.MANAGE_PY), "demo_experiment"]
        argv += ["--preset", self.preset, "--deadline", str(self.deadline), "--site", site]
        argv += [] if self.exits_when_done else ["--once"]
        log = settings.DATA_DIR / "logs" / "demo.log"
        return Part("demo", argv, log, environment(settings.DATA_DIR, settings.BASE_DIR), comes_back=False)
