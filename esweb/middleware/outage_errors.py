"""Recognize errors that mean PostgreSQL or Valkey is away, full or frozen, and shorten their log records.

The settings of logging import this module, before there are models.
"""

from __future__ import annotations

import logging

import kombu.exceptions
import psycopg
import redis
from django import db
from django.http import HttpRequest

DATABASE, REDIS = "database", "redis"
AWAY = (db.OperationalError, db.InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)
OUTAGES = ("08", "53", "57P", "58")
"""Classes of PostgreSQL's codes: connection, resources, shutdown and recovery, its machine. A lost connection has none.

Others are errors of one statement, such as a deadlock or a timeout, which are defects of ours.
"""
CANNOT_WRITE = (
    kombu.exceptions.OperationalError,
    redis.ConnectionError,
    redis.TimeoutError,
    redis.OutOfMemoryError,
    redis.ReadOnlyError,
)


def server_of(error: BaseException | None) -> str:
    """Return the server that an error reports away or full: "database" or "redis"; empty if it is another's error."""
    if isinstance(error, AWAY):
        code = sqlstate_of(error)
        return DATABASE if not code or code.startswith(OUTAGES) else ""
    if isinstance(error, CANNOT_WRITE):
        return REDIS
    # The error of a command in a pipeline begins with the command.
    if isinstance(error, redis.ResponseError) and any(code in str(error) for code in ("MISCONF", "NOREPLICAS")):
        return REDIS
    return ""


def sqlstate_of(error: BaseException | None) -> str:
    """Return PostgreSQL's code of the error, which Django's own errors hold as their cause."""
    while error is not None:
        if isinstance(error, psycopg.Error):
            return error.sqlstate or ""
        error = error.__cause__
    return ""


class OneLineFilter(logging.Filter):
    """A filter that shortens to one line, without a traceback, the log of an outage that ended a request, a later step
    or Celery's worker."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True: no record is dropped."""
        error = record.exc_info[1] if record.exc_info else None
        if server := server_of(error):
            request = getattr(record, "request", None)
            if isinstance(request, HttpRequest):
                request_line = f"{request.method} {request.path[:200]}"
                record.msg, record.args = (
                    "%s is answered 503, because of the %s: %s",
                    (request_line, server, _line(error)),
                )
            else:
                record.msg, record.args = "%s (%s)", (record.getMessage(), _line(error))
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.exc_info = record.exc_text = None
        return True


def _line(error: BaseException | None) -> str:
    return " ".join(str(error).split())[:300]
