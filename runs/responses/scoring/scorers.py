"""Selection of the scorers that the site calls for a user.

A member can register any address. So the site calls only scorers that an admin registered, or that are at a host that
an admin named. It reads no token from a file: tokens come from the secrets that the user may use.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.utils.translation import gettext

from runs import access, service_registry
from runs.metrics import task_of
from runs.models import Run, ScorerSecret, Service
from runs.models.experiment import Person
from runs.service_registry import SCORER
from workers.config.tasks import EMBEDDED, TASKS, TaskOptions
from workers.scorer.client import ScorerClient, ScorerFailed, ScorerRefused
from workers.scorer.embedded import EmbeddedScorer
from workers.scorer.scores import Scorer

JOB_SECONDS = 40.0
"""Deadline of a job's request; the job itself is stopped after a minute."""


def choices(person: Person, run: Run) -> list[str]:
    """Return names of scorers that the site may call for this user now, and of the tiny models if they fit the run."""
    secrets = [s.name for s in ScorerSecret.objects.usable_by(person).select_related("owner") if _is_callable(s)]
    alive = Service.objects.usable_by(person).alive().filter(kind=SCORER).select_related("owner").own_first(person)
    names = dict.fromkeys(service.name for service in _first_by_name(alive) if not refusal_reason(service))
    return [*([EMBEDDED] if _fits_embedded(run) else []), *sorted({*names, *secrets})]


def scorer_for(person: Person, name: str, tries: int = 1, seconds: float = JOB_SECONDS) -> Scorer:
    """Return a client for the scorer of this name at its current address, with `tries` within `seconds`. Raise
    ScorerFailed if none is alive, ScorerRefused if the site must not call it."""
    if name == EMBEDDED:
        return EmbeddedScorer()
    try:
        owner, address, token = _address_and_token(person, name)
    except access.SecretLost as error:
        raise ScorerRefused(str(error)) from error
    timeout = min(seconds, 60.0)
    # An admin may register any address; a member's scorer is called only at permitted hosts.
    hosts = access.allowed_hosts(owner)
    return ScorerClient(
        address, token=token, hosts=hosts, tries=tries, timeout_seconds=timeout, deadline_seconds=seconds
    )


def _address_and_token(person: Person, name: str) -> tuple[User, str, str]:
    """Return the scorer's owner, address and token. Raise the errors of `scorer_for`, and SecretLost."""
    if (secret := access.find_secret(person, name)) is not None and secret.address:
        if not _is_callable(secret):
            raise ScorerRefused(access.host_refusal(secret.address))
        return secret.owner, secret.address, access.token_of(secret)
    service = service_registry.find_service(person, SCORER, name)
    if service is None:
        raise ScorerFailed(gettext("No scorer named %(name)s is available.") % {"name": name})
    if reason := refusal_reason(service):
        raise ScorerRefused(reason)
    secret = service.secret
    is_usable = secret is not None and ScorerSecret.objects.usable_by(person).filter(pk=secret.pk).exists()
    return service.owner, service.address, access.token_of(secret) if secret is not None and is_usable else ""


def refusal_reason(service: Service) -> str:
    """Return the reason why the site does not call a scorer, or an empty text."""
    if not access.may_call(service.owner, service.address):
        return f"{service.name}: {access.host_refusal(service.address)}"
    if service.token_file and service.secret_id is None:
        message = gettext(
            "%(name)s wants a token, and this site reads none from a file: save it as a scorer's secret of that name "
            "with the address %(address)s (Settings, Secrets)."
        )
        return message % {"name": service.name, "address": service.address}
    return ""


def _is_callable(secret: ScorerSecret) -> bool:
    return bool(secret.address) and access.may_call(secret.owner, secret.address)


def _fits_embedded(run: Run) -> bool:
    """Return whether the run's requests are generated, since the tiny models know no others."""
    task = run.config.get("task")
    has_cost = TASKS.get(task_of(run.config), TaskOptions).has_cost
    options = task.get("options", {}) if isinstance(task, dict) and has_cost else None
    return isinstance(options, dict) and not (options.get("train_file") or options.get("eval_file"))


def _first_by_name(services: Iterable[Service]) -> list[Service]:
    """Return the first service of each name, which is the one to call."""
    services_by_name: dict[str, Service] = {}
    for service in services:
        services_by_name.setdefault(service.name, service)
    return list(services_by_name.values())
