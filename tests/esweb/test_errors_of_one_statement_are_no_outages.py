"""A deadlock or a timeout is a defect of ours: it is answered 500 and logged whole, not excused as an outage."""

from __future__ import annotations

import logging
import sys

import psycopg
import pytest
from django.db import OperationalError, connection, transaction

from esweb.middleware.outage_errors import DATABASE, OneLineFilter, server_of

STATEMENTS = {
    "57014": "SET LOCAL statement_timeout = 1; SELECT pg_sleep(10)",
    "40P01": "DO $$ BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END $$",
    "55P03": "DO $$ BEGIN RAISE EXCEPTION 'lock not available' USING ERRCODE = '55P03'; END $$",
    "54001": "DO $$ BEGIN RAISE EXCEPTION 'stack depth limit exceeded' USING ERRCODE = '54001'; END $$",
}
OUTAGES = ("08006", "53100", "53300", "57P01", "57P03", "58030")


def _fail(statement: str) -> OperationalError:
    with pytest.raises(OperationalError) as raised, transaction.atomic(), connection.cursor() as sql:
        sql.execute(statement)
    return raised.value


@pytest.mark.django_db
@pytest.mark.parametrize("code", STATEMENTS)
def test_error_of_a_statement_is_no_outage_and_keeps_its_traceback(code: str) -> None:
    error = _fail(STATEMENTS[code])
    assert isinstance(error.__cause__, psycopg.Error) and error.__cause__.sqlstate == code
    assert server_of(error) == ""
    try:
        raise error
    except OperationalError:
        record = logging.LogRecord("django.request", logging.ERROR, "", 0, "failed", None, sys.exc_info())
    assert OneLineFilter().filter(record) and record.levelno == logging.ERROR and record.exc_info is not None


@pytest.mark.django_db
@pytest.mark.parametrize("code", OUTAGES)
def test_server_that_is_full_or_ends_is_an_outage(code: str) -> None:
    error = _fail(f"DO $$ BEGIN RAISE EXCEPTION 'away' USING ERRCODE = '{code}'; END $$")
    assert server_of(error) == DATABASE


def test_lost_connection_has_no_code_and_is_an_outage() -> None:
    with pytest.raises(psycopg.OperationalError) as raised:
        psycopg.connect("host=/nowhere", connect_timeout=1)
    assert raised.value.sqlstate is None and server_of(raised.value) == DATABASE
