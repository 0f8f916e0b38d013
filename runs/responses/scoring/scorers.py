"""Which scorers the site calls, and for whom.

A member can register any address. So the site calls only what an admin registered, or what is at a host that an admin
named. It reads no token from a file: tokens come from the secrets that the person may use.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.utils.translation import gettext

from runs import access, service_registry
from runs.models import Run, ScorerSecret, Service
from runs.models.experiment import Person
from workers.config.tasks import EMBEDDED
from workers.scorer.client import ScorerClient, ScorerFailed, ScorerRefused
from workers.scorer.embedded import EmbeddedScorer
from workers.scorer.scores import Scorer

KIND = "scorer"
JOB_SECONDS = 40.0
"""Of what a job asks; it is given up after a minute."""


def choices(person: Person, run: Run) -> list[str]:
    """Names of scorers that the site may call for this person now, and of the tiny models where they fit the run."""
    secrets = [s.name for s in ScorerSecret.objects.usable_by(person).select_related("owner") if _is_callable(s)]
    alive = Service.objects.visible_to(person).alive().filter(kind=KIND).select_related("owner").own_first(person)
    names = dict.fromkeys(service.name for service in _firsts(alive) if not why_not(service))
    return [*([EMBEDDED] if _fits_embedded(run) else []), *sorted({*names, *secrets})]


def scorer_of(person: Person, name: str, tries: int = 1, seconds: float = JOB_SECONDS) -> Scorer:
    """The scorer of this name, where it is now, asked so many times within so many seconds. Raises ScorerFailed where
    none lives, ScorerRefused where it is not to be called."""
    if name == EMBEDDED:
        return EmbeddedScorer()
    try:
        owner, address, token = _address_and_token(person, name)
    except access.SecretLost as error:
        raise ScorerRefused(str(error)) from error
    timeout = min(seconds, 60.0)
    # An admin's word is enough for any address; a member's scorer is called where its host may be, and nowhere else.
    resolve = access.resolver_for(owner, address)
    return ScorerClient(
        address, token=token, resolve=resolve, tries=tries, timeout_seconds=timeout, deadline_seconds=seconds
    )


def _address_and_token(person: Person, name: str) -> tuple[User, str, str]:
    """Return whose scorer it is, where it is called and with which token. Raise as `scorer_of`, and SecretLost."""
    if (secret := access.find_secret(person, name)) is not None and secret.address:
        if not _is_callable(secret):
            raise ScorerRefused(access.host_refusal(secret.address))
        return secret.owner, secret.address, access.token_of(secret)
    service = service_registry.find(person, KIND, name)
    if service is None:
        raise ScorerFailed(gettext("No scorer of the name %(name)s is alive now.") % {"name": name})
    if why := why_not(service):
        raise ScorerRefused(why)
    secret = service.secret
    is_usable = secret is not None and ScorerSecret.objects.usable_by(person).filter(pk=secret.pk).exists()
    return service.owner, service.address, access.token_of(secret) if secret is not None and is_usable else ""


def why_not(service: Service) -> str:
    """Return why the site does not call a scorer, or an empty text."""
    if not access.may_call(service.owner, service.address):
        return f"{service.name}: {access.host_refusal(service.address)}"
    if service.token_file and service.secret_id is None:
        said = gettext(
            "%(name)s wants a token, and this site reads none from a file: save it as a scorer's secret of that name "
            "with the address %(address)s (Settings, Secrets)."
        )
        return said % {"name": service.name, "address": service.address}
    return ""


def _is_callable(secret: ScorerSecret) -> bool:
    return bool(secret.address) and access.may_call(secret.owner, secret.address)


def _fits_embedded(run: Run) -> bool:
    """The tiny models know generated requests, and nothing else."""
    task = run.config.get("task")
    options = task.get("options", {}) if isinstance(task, dict) and task.get("name") == "safety" else None
    return isinstance(options, dict) and not (options.get("train_file") or options.get("eval_file"))


def _firsts(services: Iterable[Service]) -> list[Service]:
    """Of each name the one that would be called."""
    found: dict[str, Service] = {}
    for service in services:
        found.setdefault(service.name, service)
    return list(found.values())
