"""Services, such as scorers, that register with the site and send heartbeats."""

from runs.service_registry.commands import SCORER, address_problem, find_service, launch_refusal
from runs.service_registry.schemas import NAME

__all__ = [
    "NAME",
    "SCORER",
    "address_problem",
    "find_service",
    "launch_refusal",
]
