"""Metric keys that runs have points of, by section, and a search over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import DataError, InternalError, OperationalError, connection, transaction
from django.utils.translation import gettext
from psycopg.errors import QueryCanceled

from runs import metrics
from runs.charts import default_measures
from runs.http import search_slot
from runs.metrics import AXES, MEASURES
from runs.models import Run, Series
from runs.responses.viewer import complexity_problem

MAX_KEYS = 24
UNSECTIONED = "other"
FIRST_SECTIONS = ("reward", "accuracy", "kl", "response", "sample", "safety", "cost", "eval")
SEARCH_MS = 500


@dataclass(frozen=True)
class KeySection:
    """Keys with the same first part, without the main keys, whose charts come first."""

    name: str
    keys: tuple[str, ...]

    @property
    def first_keys(self) -> tuple[str, ...]:
        """Return the first keys, at most as many as a page can draw."""
        return self.keys[:MAX_KEYS]


@dataclass(frozen=True)
class KeySearch:
    """The matching keys, as many as a page can draw, and their total number; or the problem of the pattern."""

    keys: tuple[str, ...] = ()
    total: int = 0
    problem: str = ""


@dataclass(frozen=True)
class ComparedKeys:
    """The keys of a comparison: those whose charts come first, and all others in sections."""

    main: list[str]
    sections: list[KeySection]

    @property
    def all(self) -> list[str]:
        return [*self.main, *(key for section in self.sections for key in section.keys)]


def every_key(_key: str) -> bool:
    """Show every key: what signed-in readers see."""
    return True


def compared_keys(runs: Sequence[Run], is_shown: Callable[[str], bool] = every_key) -> ComparedKeys:
    """Return the keys of these runs that are shown. One query."""
    keys = [key for key in metrics.recorded_keys(runs) if is_shown(key)]
    main = [measure.key for measure in default_measures(runs, keys)]
    return ComparedKeys(main, _sections([key for key in keys if key not in main]))


def key_sections(runs: Sequence[Run], is_shown: Callable[[str], bool] = every_key) -> list[KeySection]:
    """Return the shown keys but the main ones, in sections. One query."""
    return compared_keys(runs, is_shown).sections


def _sections(keys: Sequence[str]) -> list[KeySection]:
    """Return the keys in sections by the part before the first slash, the evaluator's sections first."""
    keys_by_section: dict[str, list[str]] = {}
    for key in keys:
        keys_by_section.setdefault(key.split("/", 1)[0] if "/" in key else UNSECTIONED, []).append(key)
    order = {name: i for i, name in enumerate(FIRST_SECTIONS)}
    names = sorted(keys_by_section, key=lambda name: (order.get(name, len(order)), name))
    return [KeySection(name, tuple(keys_by_section[name])) for name in names]


def key_names(runs: Sequence[Run], is_shown: Callable[[str], bool] = every_key) -> list[str]:
    """Return the shown keys that charts of these runs can have: those of all measures, then the others. One query."""
    return list(dict.fromkeys([*(measure.key for measure in MEASURES), *compared_keys(runs, is_shown).all]))


def search_keys(
    runs: Sequence[Run],
    pattern: str,
    main: Sequence[str],
    is_shown: Callable[[str], bool] = every_key,
    reader: int | None = None,
) -> KeySearch:
    """Find shown keys besides the main ones that a PostgreSQL regular expression matches anywhere, ignoring case.

    The database matches, not Python: a timeout can stop it if a pattern would take too long. `reader` is the id of the
    user who searches. Raise SearchesBusy if there is no slot for the search.
    """
    if problem := complexity_problem(pattern):
        return KeySearch(problem=problem)
    keys = Series.objects.filter(run__in=runs, key__iregex=pattern).exclude(key__startswith=AXES)
    keys = keys.exclude(key__in=main)
    try:
        with search_slot(reader), transaction.atomic(), _statement_timeout():
            matches = [key for key in keys.order_by("key").values_list("key", flat=True).distinct() if is_shown(key)]
    except (DataError, InternalError):
        message = gettext("%(pattern)r is not a valid regular expression. A part of a key, such as reward, is valid.")
        return KeySearch(problem=message % {"pattern": pattern})
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        message = gettext("Searching for %(pattern)r took too long. Try a simpler pattern.")
        return KeySearch(problem=message % {"pattern": pattern})
    return KeySearch(tuple(matches[:MAX_KEYS]), len(matches))


@contextmanager
def _statement_timeout() -> Iterator[None]:
    """Limit statements to SEARCH_MS, in a transaction. Afterwards the limit is lifted for an outer transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(SEARCH_MS)])
        yield
        cursor.execute("SELECT set_config('statement_timeout', '0', true)")
