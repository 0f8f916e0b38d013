"""Errors of the training and of the library: how a run ends after the former, and that the latter are never raised."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from esweb_client.notices import warn_once

Method = TypeVar("Method", bound=Callable[..., Any])


def never_raise(method: Method) -> Method:
    """Return the method with its errors reported once instead of raised: a training must not end for its log."""

    @functools.wraps(method)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except Exception as error:
            name = method.__name__
            warn_once(f"call {name} {type(error).__name__}", f"a call of {name} is dropped: {describe_error(error)}")
            return None

    return cast(Method, guarded)


def describe_error(error: BaseException) -> str:
    """Return type and text of an error, also of one whose text raises an error."""
    try:
        return f"{type(error).__name__}: {error}"[:1000]
    except Exception:
        return type(error).__name__


def end_of(error: BaseException | None) -> dict[str, Any]:
    """Return how a run ends after this error, or without one, as arguments of `finish`."""
    if isinstance(error, KeyboardInterrupt):
        return {"exit_code": 130, "state": "cancelled", "reason": "interrupted from the keyboard"}
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        return {"exit_code": code, "reason": "" if code == 0 else describe_error(error)}
    return {"exit_code": 1, "reason": describe_error(error)} if error is not None else {}
