"""One `manage.py up` on a folder of its own: opened, hit, opened again, closed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.chaos.processes import Resident, residents
from tests.free_ports import unused_port
from tests.waiting import PATIENCE_SECONDS, wait_until

ROOT = Path(__file__).resolve().parents[2]
PARTS = frozenset({"up", "web", "worker", "beat", "follow", "other"})
SLOTS = 3
# They would name the servers and the data of the tests around us.
OTHERS = frozenset({"DATABASE_URL", "REDIS_URL", "ESWEB_DATA", "DJANGO_SETTINGS_MODULE"})


class House:
    """esweb on `data`. Its port stays the same over all starts, as an address that people know does."""

    def __init__(self, data: Path, env: Mapping[str, str]) -> None:
        self.data, self.console = data, data.with_suffix(".console")
        self.port = unused_port()
        self.env = {k: v for k, v in os.environ.items() if k not in OTHERS}
        self.env |= {"ESWEB_LOCAL_SLOTS": str(SLOTS), **env}
        self.up: subprocess.Popen[bytes] | None = None
        self._opened_at = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_open(self) -> bool:
        """True while `up` itself lives."""
        return self.up is not None and self.up.poll() is None

    @property
    def said(self) -> str:
        """What `up` has printed since it was started last."""
        return self.console.read_bytes()[self._opened_at :].decode(errors="replace")

    def open(self) -> None:
        """Starts it, and does not wait for it."""
        self._opened_at = self.console.stat().st_size if self.console.exists() else 0
        argv = [sys.executable, str(ROOT / "manage.py"), "up", "--data", str(self.data), "--port", str(self.port)]
        with self.console.open("ab") as console:
            self.up = subprocess.Popen(argv, stdout=console, stderr=console, env=self.env, start_new_session=True)

    def manage(self, *words: str) -> str:
        """What a command of the project prints."""
        argv = [sys.executable, str(ROOT / "manage.py"), *words, "--data", str(self.data)]
        done = subprocess.run(
            argv, stdout=subprocess.PIPE, text=True, env=self.env, check=True, timeout=PATIENCE_SECONDS
        )
        return done.stdout.strip()

    def living(self, *roles: str) -> list[Resident]:
        """Its processes, of these roles or all."""
        return [resident for resident in residents(self.data) if not roles or resident.role in roles]

    def kill_everything(self) -> list[Resident]:
        """SIGKILL to all that lives there, the supervisor first, and to what was being born meanwhile; who was hit."""
        hit: list[Resident] = []
        wait_until(lambda: not self._hit_all(hit), "every process of esweb to end")
        if self.up is not None:
            self.up.wait(PATIENCE_SECONDS)
        return hit

    def await_ruin(self) -> None:
        """Returns once all that the supervisor held is gone with it. Jobs live on."""
        if self.up is not None:
            self.up.wait(PATIENCE_SECONDS)
        wait_until(
            lambda: not self.living(*PARTS),
            "every process that `up` had started to end",
            details=lambda: self.living(*PARTS),
        )

    def close(self) -> int:
        """SIGTERM, as Ctrl-C would; the exit code."""
        assert self.up is not None
        self.up.terminate()
        return self.up.wait(PATIENCE_SECONDS)

    def _hit_all(self, hit: list[Resident]) -> bool:
        """False where nobody was there any more."""
        found = sorted(self.living(), key=lambda resident: resident.role != "up")
        for resident in found:
            resident.process.send(signal.SIGKILL)
        hit += found
        return bool(found)
