"""API of services: they register and send heartbeats; runs and scripts look them up by kind."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import P, PathEx, QueryEx
from ninja.errors import HttpError
from pydantic import Field

from runs import access
from runs.http import ApiRequest, Invalid, needs, router
from runs.models import Run, ScorerSecret, Service
from runs.service_registry import commands
from runs.service_registry.commands import InvalidRegistration, NameTaken, NotRegistered, register, withdraw
from runs.service_registry.schemas import INSTANCE, KIND, NAME, Beat, NewService, ServiceOut, ServicesOut

MAX_SERVICES = 500
Kind = PathEx[str, P(pattern=KIND, example="scorer")]
Name = PathEx[str, P(pattern=NAME, example="safety-7b")]
EXAMPLE: dict[str, Any] = {
    "kind": "scorer", "name": "safety-7b", "instance": "4f1c9a52e0b7", "address": "http://node7:8000",
    "health_path": "/health", "version": "1.2.0", "capabilities": {"models": ["safety-7b"]}, "lease_seconds": 60,
}  # fmt: skip

Instance = QueryEx[str, P(pattern=INSTANCE, example=EXAMPLE["instance"])]
TAKEN_RESPONSE = {"description": "Another process has registered with this name"}


@router.post(
    "/services",
    response={200: ServiceOut, 201: ServiceOut},
    auth=needs("serve"),
    tags=["services"],
    summary="Register a service",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
def register_service(request: ApiRequest, new: NewService) -> tuple[int, ServiceOut]:
    """Register a service, or register it again: the new process takes over the name, and the earlier one gets 409 at
    its next heartbeat.

    Only you can look up your services; everybody can look up an admin's. Needs scope serve.
    """
    try:
        service, is_new = register(request.auth.person, new.registration(), _calling_run(request))
    except InvalidRegistration as error:
        raise Invalid(*error.problems) from error
    return 201 if is_new else 200, ServiceOut.from_row(service)


@router.put(
    "/services/{kind}/{name}/beat",
    response=ServiceOut,
    auth=needs("serve"),
    tags=["services"],
    summary="Send a heartbeat",
    openapi_extra={
        "responses": {409: TAKEN_RESPONSE},
        "requestBody": {"content": {"application/json": {"example": {"instance": EXAMPLE["instance"]}}}},
    },
)
def beat_service(request: ApiRequest, kind: Kind, name: Name, beat: Beat) -> ServiceOut:
    """Extend the lease by the registered number of seconds. 404 means that the service must register again, 409 that
    another process has the name now. Needs scope serve."""
    try:
        return ServiceOut.from_row(commands.beat(request.auth.person, kind, name, beat.instance))
    except (NotRegistered, NameTaken) as error:
        raise _refusal(error) from error


@router.delete(
    "/services/{kind}/{name}",
    response={204: None},
    auth=needs("serve"),
    tags=["services"],
    summary="Withdraw a service",
    openapi_extra={"responses": {409: TAKEN_RESPONSE}},
)
def withdraw_service(
    request: ApiRequest,
    kind: Kind,
    name: Name,
    instance: QueryEx[str, P(pattern=INSTANCE, example=EXAMPLE["instance"])],
) -> tuple[int, None]:
    """Withdraw a service immediately, such as before it stops. Needs scope serve."""
    try:
        withdraw(request.auth.person, kind, name, instance)
    except (NotRegistered, NameTaken) as error:
        raise _refusal(error) from error
    return 204, None


@router.get("/services", response=ServicesOut, auth=needs("find"), tags=["services"], summary="Find services")
def find_services(
    request: ApiRequest,
    kind: Annotated[str, Field(pattern=KIND)] | None = None,
    name: Annotated[str, Field(pattern=NAME)] | None = None,
    silent: QueryEx[bool, P(description="also silent services")] = False,
) -> ServicesOut:
    """List the services that you may use: yours first, then those of admins. Call the first of a kind."""
    person = request.auth.person
    services = Service.objects.usable_by(person).select_related("owner", "secret").own_first(person)
    filters = {"kind": kind, "name": name}
    services = services.filter(**{field: word for field, word in filters.items() if word is not None})
    services = services if silent else services.alive()
    is_run = _calling_run(request) is not None
    items = [
        ServiceOut.from_row(service, token=_token(service, request), hosts=access.allowed_hosts(service.owner))
        if is_run
        else ServiceOut.from_row(service)
        for service in services[:MAX_SERVICES]
    ]
    return ServicesOut(items=items)


def _calling_run(request: ApiRequest) -> Run | None:
    """Return the run that calls with the token that the site created for it; None for a user's token or session."""
    token = request.auth.token
    return token.run if token is not None and token.is_of_attempt else None


def _token(service: Service, request: ApiRequest) -> str:
    """Return the token that a scorer requires, if the run's creator may use its secret; else an empty text."""
    secret = service.secret
    if secret is None or not ScorerSecret.objects.usable_by(request.auth.person).filter(pk=secret.pk).exists():
        return ""
    try:
        return access.token_of(secret)
    except access.SecretLost as error:
        raise HttpError(409, str(error)) from error


def _refusal(error: Exception) -> HttpError:
    return HttpError(404 if isinstance(error, NotRegistered) else 409, str(error))
