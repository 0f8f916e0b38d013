"""Judgments in and out: files of them become a tournament, and a tournament's verdicts become files."""

from judging.exchange.bringing import Brought, File, Told, bring_in
from judging.exchange.files import FILE_AT_MOST, FORMATS_READ, MB, UPLOAD_AT_MOST
from judging.exchange.judgments import by_spelling, rubrics_of
from judging.exchange.place import Place
from judging.exchange.prompts import called
from judging.exchange.sending import send, sent
from judging.exchange.setup import setup
from judging.exchange.speakers import speakers
from judging.exchange.taking_part import named
from judging.exchange.written import (
    FORMS,
    JSONL,
    Asked,
    CannotWrite,
    check,
    lines,
    name_of,
    transcript_lines,
    transcript_of,
    without_scores,
)

__all__ = [
    "FILE_AT_MOST",
    "FORMATS_READ",
    "FORMS",
    "JSONL",
    "MB",
    "UPLOAD_AT_MOST",
    "Asked",
    "Brought",
    "CannotWrite",
    "File",
    "Place",
    "Told",
    "bring_in",
    "by_spelling",
    "called",
    "check",
    "lines",
    "name_of",
    "named",
    "rubrics_of",
    "send",
    "sent",
    "setup",
    "speakers",
    "transcript_lines",
    "transcript_of",
    "without_scores",
]
