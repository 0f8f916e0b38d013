"""One test item for many cases: cheaper than `pytest.mark.parametrize`, and a failure names every case that failed.

An item of its own for each case costs milliseconds of each process that collects it, and of the one that runs it. From
about eight cases on, a test of a table of values is one item.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

OWN = ("tmp_path", "monkeypatch", "capsys", "caplog")
"""Fixtures of which each case has its own, or an empty one."""


def each_case(
    names: str | Sequence[str], values: Iterable[Any], *, ids: Iterable[str] | Callable[[Any], object] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each case within one item; arguments as of `pytest.mark.parametrize`, without `indirect`.

    A case has a folder and a monkeypatch of its own, and database rows that it writes are rolled back after it, unless
    the test commits. Other fixtures are shared by all cases. Raises ExceptionGroup that names the failed cases. If a
    case is skipped, the others run, and the test is reported as skipped.
    """
    parameters = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    labels = ids if ids is None or callable(ids) else list(ids)
    cases = [_case(parameters, value, labels, number) for number, value in enumerate(values)]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(test).parameters
        fixtures = [own[name] for name in own if name not in parameters]
        has_request = "request" in own

        @functools.wraps(test)
        def run_all(request: pytest.FixtureRequest, **shared: Any) -> None:
            given = {**shared, "request": request} if has_request else shared
            outcome = _Outcome()
            for number, (label, case) in enumerate(cases):
                with outcome.case(label), _fixtures_of(request, given, number) as arguments:
                    test(**arguments, **case)
            outcome.report(len(cases))

        request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        shared = [parameter for parameter in fixtures if parameter.name != "request"]
        run_all.__signature__ = inspect.Signature([request, *shared])  # type: ignore[attr-defined]
        # pytest follows __wrapped__ for the names of fixtures.
        del run_all.__wrapped__  # type: ignore[attr-defined]
        return run_all

    assert cases, "a test without cases asserts nothing"
    return decorate


class _Outcome:
    """What became of the cases of a test."""

    def __init__(self) -> None:
        self._errors: list[Exception] = []
        self._failed: list[str] = []
        self._skipped: list[str] = []

    @contextlib.contextmanager
    def case(self, label: str) -> Iterator[None]:
        """Note how this case ends, and go on with the next one."""
        try:
            yield
        except pytest.skip.Exception as skip:
            self._skipped.append(f"{label}: {skip.msg}")
        except pytest.fail.Exception as failure:
            self._failed.append(label)
            self._errors.append(AssertionError(f"in case {label}: {failure.msg}"))
        except Exception as error:
            error.add_note(f"in case {label}")
            self._failed.append(label)
            self._errors.append(error)

    def report(self, count: int) -> None:
        """Raise an error that names the failed cases; otherwise skip the test if one was skipped."""
        if self._errors:
            raise ExceptionGroup(
                f"{len(self._errors)} of {count} cases failed: {', '.join(self._failed)}", self._errors
            )
        if self._skipped:
            pytest.skip(f"{len(self._skipped)} of {count} cases, all others passed: {'; '.join(self._skipped)}")


def _case(
    names: Sequence[str], value: Any, ids: Sequence[str] | Callable[[Any], object] | None, number: int
) -> tuple[str, dict[str, Any]]:
    label = None
    if not isinstance(value, str | bytes) and hasattr(value, "values") and hasattr(value, "marks"):
        assert not value.marks, "a case cannot have marks: use pytest.mark.parametrize"
        label, value = value.id, value.values if len(names) > 1 else value.values[0]
    values = tuple(value) if len(names) > 1 else (value,)
    assert len(values) == len(names), f"case {number} has {len(values)} values for {', '.join(names)}"
    if label is None and callable(ids):
        label = "-".join(str(ids(part)) for part in values)
    elif label is None and ids is not None:
        label = str(ids[number])
    return label or f"{number} ({', '.join(map(_short, values))})", dict(zip(names, values, strict=True))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


@contextlib.contextmanager
def _fixtures_of(request: pytest.FixtureRequest, shared: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """Yield the fixtures for one case."""
    arguments = dict(shared)
    with contextlib.ExitStack() as stack:
        if "tmp_path" in shared:
            folder: Path = shared["tmp_path"] / str(number)
            folder.mkdir()
            arguments["tmp_path"] = folder
        if "monkeypatch" in shared:
            arguments["monkeypatch"] = stack.enter_context(pytest.MonkeyPatch.context())
        if "capsys" in shared:
            shared["capsys"].readouterr()
        if "caplog" in shared:
            shared["caplog"].clear()
        if _has_transaction(request):
            stack.enter_context(_rolled_back())
        yield arguments


def _has_transaction(request: pytest.FixtureRequest) -> bool:
    """Return whether the test runs within a transaction: not one that commits, as a server's tests do."""
    if "db" not in request.fixturenames or "transactional_db" in request.fixturenames:
        return False
    mark = request.node.get_closest_marker("django_db")
    return mark is None or not mark.kwargs.get("transaction", False)


@contextlib.contextmanager
def _rolled_back() -> Iterator[None]:
    """Roll back what a case writes. Unlike a failed block, the test's transaction can be used afterwards."""
    with transaction.atomic():
        try:
            yield
        finally:
            transaction.set_rollback(True)
