"""The question behind each answer, stored once for all runs that are asked it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from runs.ingest.texts import storable
from runs.models import Prompt
from workers.records import Response

NAME_SHOWN = 200


class Question(NamedTuple):
    """What makes two prompts the same one."""

    name: str
    text: str
    target: str

    @property
    def digest(self) -> str:
        return sha256("\x1f".join(self).encode()).hexdigest()


def prompt_ids(run_id: int, answers: Sequence[Response]) -> list[int]:
    """The primary key of each answer's prompt, made where it is new.

    An answer may leave its prompt's text out: it is then the prompt of that name which the run was asked before.
    """
    said = {a.prompt_id: _question(a) for a in answers if a.prompt is not None}
    unsaid = {a.prompt_id for a in answers} - said.keys()
    asked = _asked_before(run_id, unsaid) | said
    questions = [asked.get(a.prompt_id) if a.prompt is None else _question(a) for a in answers]
    digests = [(q or _question(a)).digest for q, a in zip(questions, answers, strict=True)]
    ids = _stored({d: q or _question(a) for d, q, a in zip(digests, questions, answers, strict=True)})
    return [ids[d] for d in digests]


def _question(answer: Response) -> Question:
    return Question(storable(answer.prompt_id), storable(answer.prompt or ""), storable(answer.target or ""))


def _asked_before(run_id: int, names: Collection[str]) -> dict[str, Question]:
    """wire name -> the newest prompt of that name in the run."""
    if not names:
        return {}
    shown = {storable(name)[:NAME_SHOWN]: name for name in names}
    rows = Prompt.objects.filter(responses__run_id=run_id, name__in=list(shown)).order_by("pk").distinct()
    return {shown[row.name]: Question(storable(shown[row.name]), row.text, row.target) for row in rows}


def _stored(questions: dict[str, Question]) -> dict[str, int]:
    """digest -> primary key."""
    ids = _known(questions)
    # In one order everywhere, so that two runs that store the same new prompts wait for each other, never in a ring.
    missing = sorted(questions.keys() - ids.keys())
    if missing:
        Prompt.objects.bulk_create([_row(d, questions[d]) for d in missing], ignore_conflicts=True)
        ids |= _known(missing)
    return ids


def _row(digest: str, question: Question) -> Prompt:
    return Prompt(digest=digest, name=question.name[:NAME_SHOWN], text=question.text, target=question.target)


def _known(digests: Iterable[str]) -> dict[str, int]:
    return dict(Prompt.objects.filter(digest__in=list(digests)).values_list("digest", "pk"))
