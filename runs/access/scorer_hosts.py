"""Addresses that a user's runs, and the site for that user, may call: any for an admin, the hosts of ESWEB_SCORER_HOSTS
for members. `workers.outgoing` has the rule itself, which the nodes apply again.

It decides for an address in a config, a registered service, an adapter server and the address of a scorer's secret.
The owner of the service or secret counts, not the user whose run calls it.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext

from workers.outgoing import Entries, is_allowed


def allowed_hosts(owner: User) -> Entries:
    """Return the entries of the hosts that are called for this user; None for an admin, who may name any address."""
    return None if owner.is_superuser and owner.is_active else list(settings.SCORER_HOSTS)


def may_call(owner: User, address: str) -> bool:
    """Return whether this address is called for its owner."""
    return is_allowed(address, allowed_hosts(owner))


def host_refusal(address: str) -> str:
    """Return the reason why a scorer at this address is not called, and a remedy."""
    message = gettext(
        "%(host)s is not an allowed scorer host; allowed are: %(hosts)s. An admin can save the secret, or add the host "
        "to ESWEB_SCORER_HOSTS."
    )
    return message % _choices(address)


def service_refusal(address: str) -> str:
    """Return the reason why another service at this address is not called, and a remedy."""
    message = gettext(
        "%(host)s is not an allowed host; allowed are: %(hosts)s. An admin can add the host to ESWEB_SCORER_HOSTS, or "
        "register the service."
    )
    return message % _choices(address)


def _choices(address: str) -> dict[str, str]:
    host = address.partition("//")[2].partition("/")[0]
    return {"host": host, "hosts": ", ".join(settings.SCORER_HOSTS) or gettext("none")}
