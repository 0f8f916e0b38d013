"""Store the prompt of each answer once for all runs that use it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from django.db import connection, transaction

from runs.ingest.storable import storable
from runs.models import Prompt
from workers.records import Response
from workers.records.categories import merge_names

MAX_NAME_LENGTH = 200
CHUNK_SIZE = 2000
LEARN = """
UPDATE runs_prompt SET categories = said.names
FROM jsonb_to_recordset(%s::jsonb) AS said(id bigint, names text[]) WHERE runs_prompt.id = said.id
"""


class Question(NamedTuple):
    """Identity of a prompt: name, text and target."""

    name: str
    text: str
    target: str

    @property
    def digest(self) -> str:
        return sha256("\x1f".join(self).encode()).hexdigest()


class StoredPrompt(NamedTuple):
    """Primary key of a stored prompt, and its identity."""

    id: int
    question: Question


def store_prompts(run_id: int, answers: Sequence[Response]) -> list[StoredPrompt]:
    """Return each answer's prompt. New prompts are created, and get the categories of their answers.

    An answer may omit its prompt's text: it then refers to the earlier prompt of that name in the run.
    """
    stated = {a.prompt_id: _question(a) for a in answers if a.prompt is not None}
    unstated = {a.prompt_id for a in answers} - stated.keys()
    questions_by_name = _earlier_questions(run_id, unstated) | stated
    questions = [questions_by_name.get(a.prompt_id) if a.prompt is None else _question(a) for a in answers]
    stored = [q or _question(a) for q, a in zip(questions, answers, strict=True)]
    digests = [question.digest for question in stored]
    named: dict[str, tuple[str, ...]] = {}
    for digest, answer in zip(digests, answers, strict=True):
        if answer.prompt is not None:
            named[digest] = merge_names(named.get(digest, ()), answer.categories)
    ids = _store_prompts(dict(zip(digests, stored, strict=True)), named)
    return [StoredPrompt(ids[d], question) for d, question in zip(digests, stored, strict=True)]


@transaction.atomic
def add_categories(named: Mapping[str, Sequence[str]]) -> tuple[int, int]:
    """Add categories to every prompt with one of these texts, of any name, ignoring outer white space.

    Return (number of prompts with one of the texts, number of those that got a new category)."""
    categories_by_text = {text.strip(): names for text, names in named.items() if names}
    rows = Prompt.objects.values_list("digest", "text", "categories").iterator(CHUNK_SIZE)
    matching = {
        digest: (categories_by_text[text.strip()], present)
        for digest, text, present in rows
        if text.strip() in categories_by_text
    }
    learning = {digest: names for digest, (names, present) in matching.items() if set(names) - set(present)}
    _add_names(learning)
    return len(matching), len(learning)


def _question(answer: Response) -> Question:
    return Question(storable(answer.prompt_id), storable(answer.prompt or ""), storable(answer.target or ""))


def _earlier_questions(run_id: int, names: Collection[str]) -> dict[str, Question]:
    """Return wire name -> the newest prompt of that name in the run."""
    if not names:
        return {}
    wire_names = {storable(name)[:MAX_NAME_LENGTH]: name for name in names}
    rows = Prompt.objects.filter(responses__run_id=run_id, name__in=list(wire_names)).order_by("pk").distinct()
    return {wire_names[row.name]: Question(storable(wire_names[row.name]), row.text, row.target) for row in rows}


def _store_prompts(questions: Mapping[str, Question], named: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Store missing prompts and return digest -> primary key. named: digest -> categories."""
    existing = _existing_prompts(questions)
    # The order is the same everywhere, so that two runs that store the same new prompts never deadlock.
    missing = sorted(questions.keys() - existing.keys())
    if missing:
        rows = (_row(digest, questions[digest], named.get(digest, ())) for digest in missing)
        Prompt.objects.bulk_create(rows, ignore_conflicts=True)
        existing |= _existing_prompts(missing)
    _add_names({digest: names for digest, names in named.items() if set(names) - set(existing[digest][1])})
    return {digest: pk for digest, (pk, _) in existing.items()}


def _row(digest: str, question: Question, categories: Sequence[str]) -> Prompt:
    name, text, target = question
    return Prompt(digest=digest, name=name[:MAX_NAME_LENGTH], text=text, target=target, categories=list(categories))


def _existing_prompts(digests: Iterable[str]) -> dict[str, tuple[int, Sequence[str]]]:
    """Return digest -> (primary key, categories)."""
    rows = Prompt.objects.filter(digest__in=list(digests)).values_list("digest", "pk", "categories")
    return {digest: (pk, categories) for digest, pk, categories in rows}


def _add_names(named: Mapping[str, Sequence[str]]) -> None:
    """Add categories to stored prompts. Existing categories remain, from whichever run."""
    if not named:
        return
    # Rows are locked in one order, so that two calls that change the same prompts never deadlock.
    rows = Prompt.objects.filter(digest__in=list(named)).order_by("digest").select_for_update(no_key=True)
    updates = [{"id": row.pk, "names": merge_names(row.categories, named[row.digest])} for row in rows]
    with connection.cursor() as cursor:
        cursor.execute(LEARN, [json.dumps(updates)])
