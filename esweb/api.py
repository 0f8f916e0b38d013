"""The REST API at /api/v1/."""

from __future__ import annotations

from ninja import NinjaAPI

api = NinjaAPI(title="esweb", version="1")
