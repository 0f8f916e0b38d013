"""Register services, look them up, and record which of them are alive.

A service holds its name while its heartbeat arrives. It is looked up by kind, and by name if that matters, each time it
is needed: an address is never copied by hand. The site itself calls only scorers (`runs.responses.scoring`).

Members register addresses at hosts of ESWEB_SCORER_HOSTS, admins any (`runs.access`). A service that an earlier version
stored, or whose host is no longer allowed, is refused when a run that names it starts, and when the run calls it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext

from runs import access
from runs.models import Run, ScorerSecret, Service
from runs.models.experiment import Person
from workers.config import Problem

SCORER = "scorer"
"""Kind of the services that score responses."""
SILENT_RETENTION = timedelta(days=30)
"""Time for which a silent service is still displayed."""
ADDRESS_LENGTH = 500


class InvalidRegistration(ValueError):
    """Error for an invalid registration; `problems` lists all of its problems."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class NotRegistered(LookupError):
    """Error for a service name that the user has not registered: the service must register again."""


class NameTaken(Exception):
    """Error for a service name under which another process has registered since."""


@dataclass(frozen=True)
class Registration:
    """Data that a service sends to register."""

    kind: str
    name: str
    instance: str
    address: str
    health_path: str = ""
    token_file: str = ""
    version: str = ""
    capabilities: dict[str, Any] = field(default_factory=dict)
    lease_seconds: int = 60


def register(owner: User, registration: Registration, run: Run | None = None) -> tuple[Service, bool]:
    """Return the service with its lease begun, and whether the name is new. It takes over from any earlier holder.

    `run` is the run that registers the scorer it serves, under the name in its config and no other: the service then
    requires the token of the secret that the config names. Raise Unusable if the registration is invalid.
    """
    if problems := list(_problems(owner, registration)):
        raise InvalidRegistration(problems)
    values = {
        name: getattr(registration, name) for name in registration.__dataclass_fields__ if name not in ("kind", "name")
    }
    values["secret"] = _secret_of(owner, registration, run) if run is not None else None
    values |= {
        "registered_at": Now(),
        "beat_at": Now(),
        "expires_at": Now() + timedelta(seconds=registration.lease_seconds),
    }
    with transaction.atomic():
        Service.objects.filter(expires_at__lt=Now() - SILENT_RETENTION).delete()
        service, is_new = Service.objects.update_or_create(
            owner=owner, kind=registration.kind, name=registration.name, defaults=values
        )
    service.refresh_from_db()
    return service, is_new


def beat(owner: User, kind: str, name: str, instance: str) -> Service:
    """Extend the lease. Raise NotRegistered if there is no service, and TakenOver if another process holds its name."""
    with transaction.atomic():
        service = _lock_service(owner, kind, name, instance)
        service.beat_at = Now()
        service.expires_at = Now() + timedelta(seconds=service.lease_seconds)
        service.save(update_fields=["beat_at", "expires_at"])
    service.refresh_from_db()
    return service


def withdraw(owner: User, kind: str, name: str, instance: str) -> None:
    """Delete the service. Raise NotRegistered if there is none, and TakenOver if another process holds the name."""
    with transaction.atomic():
        _lock_service(owner, kind, name, instance).delete()


def find_service(person: Person, kind: str, name: str = "") -> Service | None:
    """Return the live service of this kind, and of this name if one is given, that the user's runs take; None if there
    is none. The user's own services come before those of admins."""
    services = Service.objects.usable_by(person).alive().filter(kind=kind)
    return (services.filter(name=name) if name else services).own_first(person).first()


def launch_refusal(person: User, kind: str, name: str) -> str:
    """Return the reason why a run of this user must not start with the service of this name, or an empty text.

    A service that is silent counts as well, and one that has not registered yet is checked when it does.
    """
    named = Service.objects.visible_to(person).filter(kind=kind, name=name).select_related("owner").own_first(person)
    usable = list(named.usable_by(person))
    if not usable:
        other = named.first()
        message = gettext("%(name)s is a service of %(owner)s: runs take those of their creator and of admins only")
        return message % {"name": name, "owner": other.owner.get_username()} if other is not None else ""
    service = next((service for service in usable if service.is_alive()), usable[0])
    if access.may_call(service.owner, service.address):
        return ""
    return f"{name}: {access.service_refusal(service.address)}"


def _secret_of(owner: User, registration: Registration, run: Run) -> ScorerSecret | None:
    """Return the secret of the scorer that a run serves. Raise Unusable if its config serves no such scorer."""
    scorer = run.run_config.scorer
    if scorer is None or (registration.kind, registration.name) != ("scorer", scorer.name):
        registers = "no service" if scorer is None else f"the scorer {scorer.name}"
        raise InvalidRegistration([Problem("name", f"is not this run's: its config registers {registers}")])
    return ScorerSecret.objects.filter(owner=owner, name=scorer.secret).first()


def _lock_service(owner: User, kind: str, name: str, instance: str) -> Service:
    services = Service.objects.select_for_update().filter(owner=owner, kind=kind, name=name)
    service = services.first()
    if service is None:
        raise NotRegistered(f"You have no service {kind} {name}; register it again")
    if service.instance != instance:
        raise NameTaken(f"Another process has registered as {kind} {name}; this process is no longer called")
    return service


def _problems(owner: User, registration: Registration) -> Iterator[Problem]:
    if problem := address_problem(registration.address):
        yield Problem("address", f"must be an address such as http://node7:8000: {problem}")
    elif not access.may_call(owner, registration.address):
        yield Problem("address", access.service_refusal(registration.address))
    if registration.health_path and not (
        registration.health_path.startswith("/") and _is_plain(registration.health_path)
    ):
        yield Problem("health_path", f"must be a path such as /health, not {registration.health_path!r}")
    if registration.token_file and not (
        registration.token_file.startswith("/") and registration.token_file.isprintable()
    ):
        yield Problem(
            "token_file", f"must be an absolute path such as /srv/secrets/scorer, not {registration.token_file!r}"
        )


def address_problem(address: str) -> str:
    """Return what is wrong with a service's address, or an empty text."""
    if len(address) > ADDRESS_LENGTH or not _is_plain(address):
        return f"it must have at most {ADDRESS_LENGTH} ASCII characters and no spaces"
    try:
        parts = urlsplit(address)
        port_is_wrong = parts.port == 0
    except ValueError as error:
        return str(error)
    if parts.scheme not in ("http", "https"):
        return f"it must begin with http:// or https://, not {parts.scheme or 'nothing'!r}"
    if "@" in parts.netloc:
        return "it must contain no name and no password; set token_file to the file of the token, or save a secret"
    if not parts.hostname or port_is_wrong:
        return "it must contain a host, and a port from 1 to 65535"
    return "it must contain no ? and no #" if parts.query or parts.fragment or address[-1] in "?#" else ""


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text and "\\" not in text
