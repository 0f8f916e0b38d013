"""PostgreSQL refuses to run as root, and as a user without a name. In a user namespace of one user it sees `nobody`.

Nothing on the machine changes: no user is created, no permission is loosened, and on disk the files stay ours.
"""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
from collections.abc import Callable

from esweb.embedded.child_process import LIBC, CannotStart, die_with_parent

CLONE_NEWUSER = 0x10000000
NOBODY = 65534


def before_exec(death_signal: signal.Signals) -> Callable[[], None]:
    """Return a `preexec_fn` for PostgreSQL's programs. Raise CannotStart if root may not create a user namespace."""
    dies = die_with_parent(death_signal)
    if not is_needed():
        return dies
    uid, gid = os.geteuid(), os.getegid()

    def in_namespace() -> None:
        _enter(uid, gid)
        dies()  # after the namespace: entering one clears the signal

    _try(in_namespace)
    return in_namespace


def is_needed() -> bool:
    """Return whether we are root, or a user id that has no name."""
    if os.geteuid() == 0:
        return True
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return True
    return False


def _enter(uid: int, gid: int) -> None:
    if LIBC is None or LIBC.unshare(CLONE_NEWUSER) != 0:
        raise OSError("no user namespace")
    for name, line in (("setgroups", "deny"), ("uid_map", f"{NOBODY} {uid} 1"), ("gid_map", f"{NOBODY} {gid} 1")):
        descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(descriptor, line.encode())
        os.close(descriptor)


def _try(preexec: Callable[[], None]) -> None:
    try:
        subprocess.run(["true"], preexec_fn=preexec, check=True)
    except (subprocess.SubprocessError, OSError):
        user = "root" if os.geteuid() == 0 else f"user id {os.geteuid()}, which has no name"
        raise CannotStart(
            f"PostgreSQL does not run as {user}, and this machine does not allow user namespaces. "
            "Start esweb as an ordinary user, or set DATABASE_URL to a PostgreSQL server."
        ) from None
