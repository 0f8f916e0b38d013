"""Report a training that runs anywhere to an esweb server.

run = esweb_client.init(project="conciseness", config={"lr": 1e-5})
run.log({"reward/mean": 0.4}, step=1)
run.finish()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from esweb_client.current import current_run, init
from esweb_client.notices import warn_once
from esweb_client.tracked_run import Run
from esweb_client.version import VERSION as __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from esweb_client.state import Section

    run: Run | None
    config: Section
    summary: Section
    log: Callable[..., None]
    log_responses: Callable[..., None]
    log_population: Callable[..., None]
    log_checkpoint: Callable[..., None]
    log_status: Callable[..., None]
    alert: Callable[..., None]
    finish: Callable[..., None]

__all__ = [
    "Run",
    "__version__",
    "alert",
    "config",
    "finish",
    "init",
    "log",
    "log_checkpoint",
    "log_population",
    "log_responses",
    "log_status",
    "run",
    "summary",
]

_METHODS = ("alert", "finish", "log", "log_checkpoint", "log_population", "log_responses", "log_status")


def __getattr__(name: str) -> Any:
    """Return a part of the current run: itself as `run`, its config, summary or one of its methods."""
    current = current_run()
    if name == "run":
        return current
    if name in ("config", "summary") or name in _METHODS:
        if current is not None:
            return getattr(current, name)
        warn_once(f"no run {name}", f"esweb_client.{name} has no effect before esweb_client.init()")
        return _ignore if name in _METHODS else {}
    raise AttributeError(f"module 'esweb_client' has no attribute {name!r}")


def _ignore(*args: Any, **kwargs: Any) -> None:
    """Accept a call of a run that does not exist."""
