"""JSON schemas of services."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import Field, StringConstraints, model_validator

from runs.http import NO_NUL, Input, Output, Username, is_unstorable
from runs.service_registry.commands import Registration

KIND = r"^[a-z][a-z0-9-]{0,39}$"
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
INSTANCE = r"^[A-Za-z0-9-]{8,64}$"
CAPABILITIES_BYTES = 8_192
Instance = Annotated[str, StringConstraints(pattern=INSTANCE)]


class Beat(Input):
    """A heartbeat. `instance` identifies the process: the id with which it registered."""

    instance: Instance


class NewService(Beat):
    """Registration of a service. It is called at `address`; `token_file` is the path where callers find its token."""

    kind: Annotated[str, StringConstraints(pattern=KIND)]
    name: Annotated[str, StringConstraints(pattern=NAME)]
    address: Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=NO_NUL)]
    health_path: Annotated[str, StringConstraints(max_length=200, pattern=NO_NUL)] = ""
    token_file: Annotated[str, StringConstraints(max_length=500, pattern=NO_NUL)] = ""
    version: Annotated[str, StringConstraints(max_length=100, pattern=NO_NUL)] = ""
    capabilities: dict[str, Any] = Field(default_factory=dict)
    lease_seconds: Annotated[int, Field(ge=5, le=3600)] = 60

    @model_validator(mode="after")
    def _fits(self) -> NewService:
        if is_unstorable(self.capabilities) or len(json.dumps(self.capabilities)) > CAPABILITIES_BYTES:
            raise ValueError(f"capabilities must be at most {CAPABILITIES_BYTES} bytes of JSON, without NUL characters")
        if is_unstorable(self.version):
            raise ValueError("version must contain no unpaired surrogates")
        return self

    def registration(self) -> Registration:
        """Return the registration for the registry."""
        return Registration(**self.model_dump())


class ServiceOut(Output):
    """A service. It expires at `expires_at`, unless it sends a heartbeat before. Only runs of this site get a `token`,
    and `hosts`: the entries of ESWEB_SCORER_HOSTS that its address must obey, null if an admin owns it."""

    kind: str
    name: str
    owner: Username
    address: str
    health_path: str
    token_file: str
    version: str
    capabilities: dict[str, Any]
    is_alive: bool
    lease_seconds: int
    token: str = ""
    hosts: list[str] | None = Field(default_factory=list)
    registered_at: datetime
    beat_at: datetime
    expires_at: datetime


class ServicesOut(Schema):
    """Services, your own first, of each the newest first."""

    items: list[ServiceOut]
