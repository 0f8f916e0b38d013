"""Turns of requests that launch, extend or resume: few are stored at the same time.

Without turns each would hold a connection to the database, also while it waits for the lock of a limit or of a new
experiment. Twenty that arrive together at a busy machine would leave none to pages, and most would be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from django.contrib.auth.models import User
from django.db import connection
from django.utils.translation import gettext
from ninja.operation import Operation
from ninja.utils import contribute_operation_callback

from runs.http import POOL_SIZE, SlotsBusy, UserSlots

MAX_CONCURRENT_LAUNCHES = max(1, POOL_SIZE // 2)
"""A part of the connections to the database, of which a user has all but one."""
PATIENCE_SECONDS = 60.0
"""The time that a launch waits for its turn: a hundred that arrive together are stored in it on two busy cores."""
View = TypeVar("View", bound=Callable[..., Any])


class LaunchesBusy(SlotsBusy):
    """The launch had no turn in time; nothing was stored."""

    @property
    def detail(self) -> str:
        return gettext(
            "Other launches have been waiting for a minute, so this one has not begun, and nothing was stored. Try "
            "again in a few seconds."
        )


slots = UserSlots(MAX_CONCURRENT_LAUNCHES, PATIENCE_SECONDS, LaunchesBusy, per_user=max(1, MAX_CONCURRENT_LAUNCHES - 1))


@contextmanager
def launch_turn(person: User) -> Iterator[None]:
    """Run the block in this user's turn. Raise LaunchesBusy if it does not come in time. Turns do not nest."""
    if not connection.in_atomic_block:
        # A request keeps its connection until it ends, and others need it while this one waits.
        connection.close()
    with slots.occupied(person.pk):
        yield


def in_turn(view: View) -> View:
    """Make an operation of the API wait for its user's turn. Put this between its route and `idempotent`."""
    contribute_operation_callback(view, _wrap_operation)
    return view


def posts_in_turn(view: View) -> View:
    """Make a page's POST wait for its user's turn."""

    @wraps(view)
    def inner(request: Any, *args: Any, **kwargs: Any) -> Any:
        if request.method != "POST":
            return view(request, *args, **kwargs)
        with launch_turn(request.user):
            return view(request, *args, **kwargs)

    return cast("View", inner)


def _wrap_operation(operation: Operation) -> None:
    view = operation.view_func

    @wraps(view)
    def inner(request: Any, **kwargs: Any) -> Any:
        with launch_turn(request.auth.person):
            return view(request, **kwargs)

    operation.view_func = inner
