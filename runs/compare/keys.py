"""The keys that runs have points of, by section, and those that a reader searches for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import DataError, InternalError, OperationalError, connection, transaction
from django.utils.translation import gettext
from psycopg.errors import QueryCanceled

from runs.charts import MAIN_KEYS
from runs.metrics import AXES
from runs.models import Run, Series
from runs.responses.viewer import complexity_problem

KEYS_AT_MOST = 24
PLAIN = "other"
FIRST = ("reward", "accuracy", "kl", "response", "sample", "safety", "cost", "eval")
SEARCH_MS = 500


@dataclass(frozen=True)
class KeySection:
    """The keys that begin alike, besides those that every comparison shows."""

    name: str
    keys: tuple[str, ...]

    @property
    def shown(self) -> tuple[str, ...]:
        """Return the first keys, at most as many as a page can draw."""
        return self.keys[:KEYS_AT_MOST]


@dataclass(frozen=True)
class KeySearch:
    """The keys that match, as many as a page can draw, and how many there are; or what is wrong with the pattern."""

    keys: tuple[str, ...] = ()
    total: int = 0
    problem: str = ""


def key_sections(runs: Sequence[Run]) -> list[KeySection]:
    """Sections by the part before the first slash, the evaluator's first. One query."""
    keys = Series.objects.filter(run__in=runs).exclude(key__startswith=AXES).exclude(key__in=MAIN_KEYS)
    found: dict[str, list[str]] = {}
    for key in keys.order_by("key").values_list("key", flat=True).distinct():
        found.setdefault(key.split("/", 1)[0] if "/" in key else PLAIN, []).append(key)
    order = {name: i for i, name in enumerate(FIRST)}
    names = sorted(found, key=lambda name: (order.get(name, len(order)), name))
    return [KeySection(name, tuple(found[name])) for name in names]


def key_names(runs: Sequence[Run]) -> list[str]:
    """Return the keys that charts of these runs can have: those of every comparison, then the others. One query."""
    return [*MAIN_KEYS, *(key for section in key_sections(runs) for key in section.keys)]


def search(runs: Sequence[Run], pattern: str) -> KeySearch:
    """Other keys that a regular expression of PostgreSQL's matches anywhere, in either case.

    The database matches and not Python: it can be told to give up, where a pattern would take for ever.
    """
    if problem := complexity_problem(pattern):
        return KeySearch(problem=problem)
    keys = Series.objects.filter(run__in=runs, key__iregex=pattern).exclude(key__startswith=AXES)
    keys = keys.exclude(key__in=MAIN_KEYS)
    try:
        with transaction.atomic(), _impatient():
            found = list(keys.order_by("key").values_list("key", flat=True).distinct())
    except (DataError, InternalError):
        said = gettext("%(pattern)r is not a regular expression. A part of a key, such as reward, is one.")
        return KeySearch(problem=said % {"pattern": pattern})
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        said = gettext("Searching for %(pattern)r took too long. Try a plainer pattern.")
        return KeySearch(problem=said % {"pattern": pattern})
    return KeySearch(tuple(found[:KEYS_AT_MOST]), len(found))


@contextmanager
def _impatient() -> Iterator[None]:
    """Gives up after SEARCH_MS. In a transaction: where one is open around it, waiting is allowed again afterwards."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(SEARCH_MS)])
        yield
        cursor.execute("SELECT set_config('statement_timeout', '0', true)")
