"""Whether the scorer and the adapter server of a run answer, as this machine reaches them."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

from workers.client.registry import Refused, find_service
from workers.config import RunConfig
from workers.config.tasks import EMBEDDED, SafetyOptions
from workers.outgoing import HostNotAllowed, connect_to
from workers.outgoing.run_hosts import run_hosts
from workers.preflight.need import MISSING, OK, UNKNOWN, Need

SECONDS = 3.0


def scorer_need(config: RunConfig) -> Iterator[Need]:
    """Yield whether the scorer of a task with one answers."""
    options = config.task.options
    if not isinstance(options, SafetyOptions) or options.scorer == EMBEDDED:
        return
    if not options.is_scorer_registered:
        yield _address_need("Scorer", options.scorer, "task.options.scorer")
    else:
        yield _service_need(
            "Scorer", "scorer", options.scorer, options.scorer_site, options.scorer_site_token_file,
            "task.options.scorer_site",
        )  # fmt: skip


def adapter_server_need(config: RunConfig) -> Iterator[Need]:
    """Yield whether the server of es.backend adapter_server answers."""
    server = config.es.adapter_server if config.es else None
    if server is None:
        return
    if not server.is_registered:
        yield _address_need("Adapter server", server.server, "es.adapter_server.server")
    else:
        yield _service_need(
            "Adapter server", server.kind, server.server, server.site, server.site_token_file, "es.adapter_server.site"
        )


def _address_need(name: str, address: str, path: str) -> Need:
    """Connect to the address. A refusal of what it serves is known only once the run calls it."""
    try:
        with connect_to(address, run_hosts(address), SECONDS):
            return Need(name, OK, f"{address} accepts connections.")
    except HostNotAllowed as error:
        return Need(name, MISSING, f"{address} is not called: {error}.", f"Correct {path}.")
    except (OSError, ValueError) as error:
        return Need(name, MISSING, f"{address} does not answer: {error}.", f"Start it, or correct {path}.")


def _service_need(name: str, kind: str, service: str, site: str, token_file: str, path: str) -> Need:
    """Look up a registered service as the run will."""
    if not site:
        return Need(
            name, UNKNOWN, f"{service} is looked up by its name on the site that starts the run.",
            f"In a run that you start by hand, set {path} and its token file, or give an address.",
        )  # fmt: skip
    try:
        offer = find_service(site, token_file, kind, service)
    except (Refused, OSError, http.client.HTTPException, ValueError) as error:
        return Need(name, MISSING, f"{service} cannot be looked up on {site}: {error}.", f"Correct {path}.")
    if offer is None:
        return Need(name, MISSING, f"{service} is not registered on {site} as a living service.", "Start it.")
    return Need(name, OK, f"{service} is registered on {site}, at {offer.address}.")
