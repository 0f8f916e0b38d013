"""Needs of the loggers TensorBoard and Weights & Biases: their packages, and a key."""

from __future__ import annotations

import netrc
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from workers.bearer import BadToken, read_token
from workers.client.metric_copies import LOGGERS
from workers.client.metric_copies.loggers import INSTALL, is_key_exposed
from workers.config import RunConfig
from workers.config.run import TrackingConfig
from workers.preflight.need import MISSING, OK, Need

SERVER = "https://api.wandb.ai"
KEY_NAME = "Key for Weights & Biases"


def logger_needs(config: RunConfig, environment: Mapping[str, str] = os.environ) -> Iterator[Need]:
    """Yield whether the package of each enabled logger is installed, and whether there is a key to send with."""
    tracking = config.tracking
    for logger in LOGGERS:
        if not logger.is_enabled(tracking):
            continue
        if logger.is_installed():
            yield Need(logger.name, OK, f"Installed: {logger.package}.")
        else:
            remedy = f"Install it with {INSTALL}."
            yield Need(logger.name, MISSING, f"Not installed here: {logger.package}.", remedy)
    if tracking.wandb_project and tracking.wandb_mode == "online":
        yield _key_need(tracking, environment)


def _key_need(tracking: TrackingConfig, environment: Mapping[str, str]) -> Need:
    file = tracking.wandb_key_file
    if file:
        try:
            read_token(file)
        except (OSError, BadToken) as error:
            remedy = "Correct tracking.wandb_key_file, or set tracking.wandb_mode to offline."
            return Need(KEY_NAME, MISSING, f"The key cannot be read: {error}.", remedy)
        if is_key_exposed(Path(file)):
            return Need(
                KEY_NAME, OK, f"It is in {file}, which other users of this machine can read.", f"chmod 600 {file}"
            )
        return Need(KEY_NAME, OK, f"It is in {file}.")
    if environment.get("WANDB_API_KEY"):
        return Need(KEY_NAME, OK, "It is in the environment, as WANDB_API_KEY.")
    host = urlsplit(environment.get("WANDB_BASE_URL") or SERVER).hostname or ""
    if _has_login(host, environment):
        return Need(KEY_NAME, OK, f"This account has logged in to {host}.")
    remedy = "Run wandb login, name a file in tracking.wandb_key_file, or set tracking.wandb_mode to offline."
    return Need(KEY_NAME, MISSING, f"This account has no key for {host}.", remedy)


def _has_login(host: str, environment: Mapping[str, str]) -> bool:
    """Return whether the file of `wandb login` has the host. A file that cannot be read has no login."""
    file = Path(environment.get("NETRC") or Path.home() / ".netrc")
    try:
        return netrc.netrc(file).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False
