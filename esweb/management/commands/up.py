"""`manage.py up`: everything, in one process tree, until Ctrl-C."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from esweb.bootstrap import prepare
from esweb.bootstrap.collectstatic import StaticCollection
from esweb.bootstrap.private_files import close_to_others, creating_private_files
from esweb.bootstrap.usable_site import hold_usable
from esweb.embedded import CannotStart, Postgres, Valkey
from esweb.supervisor import StopRequested, Tree, collectstatic_part, parts_of_esweb, static_folder, stop_on_signals
from esweb.supervisor.listening_socket import HealthPoller, address_of, listen
from esweb.supervisor.stopgap import answering
from esweb.supervisor.tree import BUSY_LOOK_SECONDS
from runs.accounts import sign_in_links
from runs.clusters import describe_gpus
from runs.launching.reconcile import interrupt
from runs.management.quick_command import QuickCommand

MANAGE_PY = Path(settings.BASE_DIR) / "manage.py"
BUNDLED: dict[str, type[Postgres] | type[Valkey]] = {"DATABASE_URL": Postgres, "REDIS_URL": Valkey}
READY_SECONDS = 300


class Command(QuickCommand):
    """Start PostgreSQL and Valkey unless others are named, the web, a worker, its clock and the follower."""

    help = "Start all servers in one process tree, and stop them on Ctrl-C."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="port of the web server")
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on; by default only this machine")
        parser.add_argument("--data", help="folder of all state (default .esweb); every command has this option")

    def handle(self, *args: Any, port: int, host: str, **options: Any) -> None:
        code = 0
        try:
            with creating_private_files(), stop_on_signals():
                close_to_others(settings.DATA_DIR)
                with (
                    hold_usable(settings.DATA_DIR),
                    listen(host, port) as listener,
                    answering(listener) as self.stopgap,
                    self.servers() as tree,
                ):
                    code = self.run(tree, listener)
        except CannotStart as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            reason = " ".join(str(error).split())
            raise CommandError(f"The database became unavailable while esweb was starting: {reason}") from error
        except StopRequested:
            return
        if code:
            sys.exit(code)

    def run(self, tree: Tree, listener: socket.socket) -> int:
        """Run everything for good; `demo` has an end, and its exit code."""
        self.start(tree, listener)
        tree.watch(until=lambda: False)
        return 0

    def start(self, tree: Tree, listener: socket.socket) -> None:
        """Prepare, start the parts, and print where the site is and how to sign in once it answers."""
        part = collectstatic_part(settings.DATA_DIR, MANAGE_PY)
        prepare.prepare(StaticCollection(static_folder(settings.DATA_DIR), part))
        link = sign_in_links.link_for(prepare.first_user())
        gpus = describe_gpus()
        prepare.release_database()
        for part in parts_of_esweb(settings.DATA_DIR, listener, MANAGE_PY, self.stopgap):
            tree.start_part(part)
        self.await_web(tree, listener)
        address = address_of(listener)
        self.print_line("esweb", f"ready at {address}/")
        for line in gpus:
            self.print_line("esweb", line)
        if prepare.password_file().exists():
            # Consoles are logged and shared on screens, so the password itself is never printed.
            self.print_line("esweb", f"the password of {prepare.ADMIN} is in {prepare.password_file()}")
        self.print_line("esweb", f"or open this link, which works once and within one hour: {address}{link}")

    def await_web(self, tree: Tree, listener: socket.socket) -> None:
        """Return once the site is well. Raise CannotStart if it does not come up."""
        is_well, give_up_at = HealthPoller(listener), time.monotonic() + READY_SECONDS
        tree.watch(lambda: is_well() or time.monotonic() > give_up_at, BUSY_LOOK_SECONDS)
        if time.monotonic() > give_up_at:
            raise CannotStart(f"The web server did not start within {READY_SECONDS} s (see {settings.DATA_DIR}/logs).")

    @contextmanager
    def servers(self) -> Iterator[Tree]:
        """Start the bundled servers that no variable replaces. At the end everything that runs is stopped, servers
        last."""
        named = {name for name in BUNDLED if os.environ.get(name) or os.environ.get(f"{name}_FILE")}
        servers = [server(settings.DATA_DIR) for name, server in BUNDLED.items() if name not in named]
        tree, cause = Tree(servers, self.print_line), ""
        try:
            tree.start_servers()
            yield tree
        except StopRequested as request:
            cause = str(request)
            raise
        finally:
            self.take_down(tree, cause)

    def take_down(self, tree: Tree, cause: str) -> None:
        """Stop the parts first, then trainings on this machine, the servers last. `cause`: the name of the signal."""
        if tree.parts:
            self.print_line("esweb", "stopping")
            tree.stop_parts()
            interrupt.interrupt_and_report(lambda line: self.print_line("esweb", line), cause)
        prepare.release_database()
        tree.stop_servers()
        if tree.parts:
            self.print_line("esweb", "stopped")

    def print_line(self, source: str, line: str) -> None:
        """Print one line on the console. A console that is gone is no reason to stop in the middle."""
        with suppress(OSError):
            self.stdout.write(f"{source:>6} | {line}")
            self.stdout.flush()
