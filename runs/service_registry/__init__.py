"""Services, such as scorers, that register with the site and send heartbeats."""

from runs.service_registry.commands import address_problem, find_service
from runs.service_registry.schemas import NAME

__all__ = [
    "NAME",
    "address_problem",
    "find_service",
]
