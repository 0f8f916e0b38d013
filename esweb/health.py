"""Whether the site can do its work: asked by `up`, by a load balancer, by a person."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

OK = "ok"


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "does not answer"
    return OK


def _redis() -> str:
    try:
        cache.get("health")
    except RedisError:
        return "does not answer"
    return OK


@never_cache
@login_not_required
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """200 where the database and Redis answer, else 503; says which, and nothing more to a stranger."""
    parts = {"database": _database(), "redis": _redis()}
    return JsonResponse(parts, status=200 if set(parts.values()) == {OK} else 503)
