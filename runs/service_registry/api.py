"""Services: they register themselves and beat; runs and scripts find them by kind."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import P, PathEx, QueryEx
from ninja.errors import HttpError
from pydantic import Field

from runs import access
from runs.http import ApiRequest, Invalid, needs, router
from runs.models import Run, ScorerSecret, Service
from runs.service_registry import commands
from runs.service_registry.commands import NotRegistered, TakenOver, Unusable, register, withdraw
from runs.service_registry.schemas import INSTANCE, KIND, NAME, Beat, NewService, ServiceOut, ServicesOut

MOST = 500
Kind = PathEx[str, P(pattern=KIND, example="scorer")]
Name = PathEx[str, P(pattern=NAME, example="safety-7b")]
EXAMPLE: dict[str, Any] = {
    "kind": "scorer", "name": "safety-7b", "instance": "4f1c9a52e0b7", "address": "http://node7:8000",
    "health_path": "/health", "version": "1.2.0", "capabilities": {"models": ["safety-7b"]}, "lease_seconds": 60,
}  # fmt: skip

Instance = QueryEx[str, P(pattern=INSTANCE, example=EXAMPLE["instance"])]
TAKEN = {"description": "Another process has registered under this name"}


@router.post(
    "/services",
    response={200: ServiceOut, 201: ServiceOut},
    auth=needs("serve"),
    tags=["services"],
    summary="Register a service",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
def register_service(request: ApiRequest, new: NewService) -> tuple[int, ServiceOut]:
    """Registers a service, or registers it anew: who held the name is taken over from, and hears so with its next beat.

    Yours are found by you alone; those of an admin by everybody. Needs scope serve.
    """
    try:
        service, is_new = register(request.auth.person, new.said(), _run_of(request))
    except Unusable as error:
        raise Invalid(*error.problems) from error
    return 201 if is_new else 200, ServiceOut.of(service)


@router.put(
    "/services/{kind}/{name}/beat",
    response=ServiceOut,
    auth=needs("serve"),
    tags=["services"],
    summary="Beat",
    openapi_extra={
        "responses": {409: TAKEN},
        "requestBody": {"content": {"application/json": {"example": {"instance": EXAMPLE["instance"]}}}},
    },
)
def beat_service(request: ApiRequest, kind: Kind, name: Name, beat: Beat) -> ServiceOut:
    """Prolongs the lease, by as much as was asked for. 404 says to register again, 409 that another process has the
    name now. Needs scope serve."""
    try:
        return ServiceOut.of(commands.beat(request.auth.person, kind, name, beat.instance))
    except (NotRegistered, TakenOver) as error:
        raise _refusal(error) from error


@router.delete(
    "/services/{kind}/{name}",
    response={204: None},
    auth=needs("serve"),
    tags=["services"],
    summary="Withdraw a service",
    openapi_extra={"responses": {409: TAKEN}},
)
def withdraw_service(
    request: ApiRequest,
    kind: Kind,
    name: Name,
    instance: QueryEx[str, P(pattern=INSTANCE, example=EXAMPLE["instance"])],
) -> tuple[int, None]:
    """Takes it out at once, as a service does that ends. Needs scope serve."""
    try:
        withdraw(request.auth.person, kind, name, instance)
    except (NotRegistered, TakenOver) as error:
        raise _refusal(error) from error
    return 204, None


@router.get("/services", response=ServicesOut, auth=needs("find"), tags=["services"], summary="Find services")
def find_services(
    request: ApiRequest,
    kind: Annotated[str, Field(pattern=KIND)] | None = None,
    name: Annotated[str, Field(pattern=NAME)] | None = None,
    silent: QueryEx[bool, P(description="also those that have fallen silent")] = False,
) -> ServicesOut:
    """The services that you may use: yours first, then those of admins. The first of a kind is the one to call."""
    person = request.auth.person
    found = Service.objects.visible_to(person).select_related("owner", "secret").own_first(person)
    wanted = {"kind": kind, "name": name}
    found = found.filter(**{field: word for field, word in wanted.items() if word is not None})
    found = found if silent else found.alive()
    is_run = _run_of(request) is not None
    items = [ServiceOut.of(service, _token(service, request) if is_run else "") for service in found[:MOST]]
    return ServicesOut(items=items)


def _run_of(request: ApiRequest) -> Run | None:
    """Return the run that shows the token which the site made for it; None for a person's token or session."""
    token = request.auth.token
    return token.run if token is not None and token.is_of_attempt else None


def _token(service: Service, request: ApiRequest) -> str:
    """Return the token that a scorer wants, if the run's creator may use its secret; else an empty text."""
    secret = service.secret
    if secret is None or not ScorerSecret.objects.usable_by(request.auth.person).filter(pk=secret.pk).exists():
        return ""
    try:
        return access.token_of(secret)
    except access.SecretLost as error:
        raise HttpError(409, str(error)) from error


def _refusal(error: Exception) -> HttpError:
    return HttpError(404 if isinstance(error, NotRegistered) else 409, str(error))
