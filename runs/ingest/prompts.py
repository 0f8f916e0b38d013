"""The question behind each answer, stored once for all runs that are asked it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from django.db import connection, transaction

from runs.ingest.storable import storable
from runs.models import Prompt
from workers.records import Response
from workers.records.categories import merged

NAME_SHOWN = 200
READ_AT_ONCE = 2000
LEARN = """
UPDATE runs_prompt SET categories = said.names
FROM jsonb_to_recordset(%s::jsonb) AS said(id bigint, names text[]) WHERE runs_prompt.id = said.id
"""


class Question(NamedTuple):
    """What makes two prompts the same one."""

    name: str
    text: str
    target: str

    @property
    def digest(self) -> str:
        return sha256("\x1f".join(self).encode()).hexdigest()


def prompt_ids(run_id: int, answers: Sequence[Response]) -> list[int]:
    """The primary key of each answer's prompt, made where it is new; it has the categories that its answers name, too.

    An answer may leave its prompt's text out: it is then the prompt of that name which the run was asked before.
    """
    said = {a.prompt_id: _question(a) for a in answers if a.prompt is not None}
    unsaid = {a.prompt_id for a in answers} - said.keys()
    asked = _asked_before(run_id, unsaid) | said
    questions = [asked.get(a.prompt_id) if a.prompt is None else _question(a) for a in answers]
    digests = [(q or _question(a)).digest for q, a in zip(questions, answers, strict=True)]
    named: dict[str, tuple[str, ...]] = {}
    for digest, answer in zip(digests, answers, strict=True):
        if answer.prompt is not None:
            named[digest] = merged(named.get(digest, ()), answer.categories)
    ids = _stored({d: q or _question(a) for d, q, a in zip(digests, questions, answers, strict=True)}, named)
    return [ids[d] for d in digests]


@transaction.atomic
def teach(named: Mapping[str, Sequence[str]]) -> tuple[int, int]:
    """Adds categories to every prompt of these texts, whatever it is called, outer white space aside. (How many prompts
    have one of the texts, how many of them did not know it all.)"""
    said = {text.strip(): names for text, names in named.items() if names}
    rows = Prompt.objects.values_list("digest", "text", "categories").iterator(READ_AT_ONCE)
    there = {digest: (said[text.strip()], known) for digest, text, known in rows if text.strip() in said}
    learning = {digest: names for digest, (names, known) in there.items() if set(names) - set(known)}
    _learn(learning)
    return len(there), len(learning)


def _question(answer: Response) -> Question:
    return Question(storable(answer.prompt_id), storable(answer.prompt or ""), storable(answer.target or ""))


def _asked_before(run_id: int, names: Collection[str]) -> dict[str, Question]:
    """wire name -> the newest prompt of that name in the run."""
    if not names:
        return {}
    shown = {storable(name)[:NAME_SHOWN]: name for name in names}
    rows = Prompt.objects.filter(responses__run_id=run_id, name__in=list(shown)).order_by("pk").distinct()
    return {shown[row.name]: Question(storable(shown[row.name]), row.text, row.target) for row in rows}


def _stored(questions: Mapping[str, Question], named: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """digest -> primary key. named: digest -> categories."""
    known = _known(questions)
    # In one order everywhere, so that two runs that store the same new prompts wait for each other, never in a ring.
    missing = sorted(questions.keys() - known.keys())
    if missing:
        rows = (_row(digest, questions[digest], named.get(digest, ())) for digest in missing)
        Prompt.objects.bulk_create(rows, ignore_conflicts=True)
        known |= _known(missing)
    _learn({digest: names for digest, names in named.items() if set(names) - set(known[digest][1])})
    return {digest: pk for digest, (pk, _) in known.items()}


def _row(digest: str, question: Question, categories: Sequence[str]) -> Prompt:
    name, text, target = question
    return Prompt(digest=digest, name=name[:NAME_SHOWN], text=text, target=target, categories=list(categories))


def _known(digests: Iterable[str]) -> dict[str, tuple[int, Sequence[str]]]:
    """digest -> (primary key, categories)."""
    rows = Prompt.objects.filter(digest__in=list(digests)).values_list("digest", "pk", "categories")
    return {digest: (pk, categories) for digest, pk, categories in rows}


def _learn(named: Mapping[str, Sequence[str]]) -> None:
    """Adds categories to prompts that are known without them: all that was said stays, whichever run said it."""
    if not named:
        return
    # Locked in one order as well, so that two calls that teach the same prompts wait for each other, never in a ring.
    rows = Prompt.objects.filter(digest__in=list(named)).order_by("digest").select_for_update(no_key=True)
    learnt = [{"id": row.pk, "names": merged(row.categories, named[row.digest])} for row in rows]
    with connection.cursor() as cursor:
        cursor.execute(LEARN, [json.dumps(learnt)])
