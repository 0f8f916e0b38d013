"""The allowed hosts of a run, which its site sets in the environment of its process.

No config can set them. A run that is started by hand has its caller's rights, and calls any address.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from workers.config.resources import RUN_HOSTS, RUN_SCORER, RUN_SCORER_HOSTS, is_started_by_site
from workers.outgoing.hosts import Entries


def run_hosts(url: str = "", environment: Mapping[str, str] = os.environ) -> Entries:
    """Return the entries for an address in the run's config, or for that of the scorer's secret, which its owner may
    have at another host. None allows any address."""
    if not is_started_by_site(environment):
        return None
    is_secrets = bool(url) and url == environment.get(RUN_SCORER)
    return _parse(environment.get(RUN_SCORER_HOSTS if is_secrets else RUN_HOSTS, ""))


def offered_hosts(hosts: Entries, environment: Mapping[str, str] = os.environ) -> Entries:
    """Return the entries for a registered service, which the site gives with its address."""
    return hosts if is_started_by_site(environment) else None


def format_hosts(entries: Entries) -> str:
    """Return the value of RUN_HOSTS for these entries."""
    return json.dumps(None if entries is None else list(entries))


def _parse(text: str) -> Entries:
    """Return the entries of a variable; none if it is not set, so that nothing is allowed by accident."""
    if not text:
        return ()
    entries = json.loads(text)
    return None if entries is None else [str(entry) for entry in entries]
