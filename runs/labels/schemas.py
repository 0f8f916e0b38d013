"""Replies and bodies of the API of labels."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field

from runs.http import MAX_TEXT_LENGTH, NO_NUL, Input, Name, Output, Username
from runs.labels.forms import MAX_READERS, MAX_SEED
from runs.models import EVALUATION
from runs.models.label import MAX_ITEMS
from workers.analysis.labels import KINDS, VERDICTS

Verdict = Annotated[str, Field(json_schema_extra={"enum": list(VERDICTS)}, max_length=40, pattern=NO_NUL)]
Kind = Annotated[str, Field(json_schema_extra={"enum": list(KINDS)}, max_length=40, pattern=NO_NUL)]
Uid = Annotated[str, Field(pattern=r"^[2-9a-z]{10}$")]


class NewLabelSet(Input):
    """Responses to draw. `runs`: uids of runs of the experiment; all with responses if omitted. `steps`: all, last (of
    each run), or numbers separated by commas. `readers`: the number of labels of a response from which on its readers
    see each other's."""

    name: Name
    number: Annotated[int, Field(ge=1, le=MAX_ITEMS)] = 200
    runs: Annotated[list[Uid], Field(max_length=500)] | None = None
    steps: Annotated[str, Field(max_length=2000, pattern=NO_NUL)] = "all"
    split: Annotated[str, Field(max_length=20, pattern=NO_NUL)] = EVALUATION
    greedy: bool = False
    readers: Annotated[int, Field(ge=1, le=MAX_READERS)] = 2
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 1


class LabelSetOut(Output):
    """Label set. `items`: number of its responses; `labelled`: number of your labels. `codebook`: its version when the
    set was created."""

    id: int
    experiment: int = Field(validation_alias="experiment_id")
    name: str
    codebook: int
    readers: int
    items: int = Field(validation_alias="item_count")
    labelled: int = Field(validation_alias="own_count")
    created_by: Username
    created_at: datetime
    archived_at: datetime | None


class LabelSetsOut(Schema):
    """Label sets, the newest first. If `next` is not null there are more: send it back as `cursor`."""

    items: list[LabelSetOut]
    next: int | None = None


class KappaOut(Output):
    """Share or κ with its 95 % interval, which resamples questions. `value` is null if it is undefined, for the reason
    `why`."""

    value: float | None
    low: float | None
    high: float | None
    why: str


class KindAgreementOut(Output):
    """Numbers of responses that both readers, only the first, and only the second gave this kind; and Cohen's κ."""

    kind: str
    both: int
    only_first: int
    only_second: int
    kappa: KappaOut


class ReaderPairOut(Output):
    """Agreement of two readers on the `n` responses, of so many `questions`, that both labelled. `raw`: share of equal
    verdicts."""

    readers: tuple[str, str]
    n: int
    questions: int
    raw: KappaOut
    kappa: KappaOut
    kinds: list[KindAgreementOut]


class ReaderOut(Output):
    """Number of a reader's labels."""

    reader: str
    done: int


class AgreementOut(Schema):
    """Agreement of the readers as far as you may see their labels.

    `withheld`: number of labels that you do not see yet. `revised`: number of labels that were changed when their
    reader could see the others. `final`: number of responses by final verdict; `disputed`: ids of the responses on
    which readers differ and nobody has decided.
    """

    items: int
    readers: list[ReaderOut]
    pairs: list[ReaderPairOut]
    final: dict[str, int]
    disputed: list[int]
    decided: int
    withheld: int
    revised: int


class ReadingOut(Schema):
    """Response to label, without anything but its texts. `n`: its place in your order, null if you have labelled all;
    `done` of `total` are labelled by you."""

    n: int | None
    done: int
    total: int
    question: str = ""
    response: str = ""
    codebook: int
    verdicts: tuple[str, ...] = VERDICTS
    kinds: tuple[str, ...] = KINDS


class NewLabel(Input):
    """Label of the response at place `n` of your order."""

    n: Annotated[int, Field(ge=1, le=MAX_ITEMS)]
    verdict: Verdict
    kinds: Annotated[tuple[Kind, ...], Field(max_length=len(KINDS))] = ()
    note: Annotated[str, Field(max_length=MAX_TEXT_LENGTH, pattern=NO_NUL)] = ""


class NewDecision(Input):
    """Decision on a response whose readers differ, with its reason."""

    verdict: Verdict
    kinds: Annotated[tuple[Kind, ...], Field(max_length=len(KINDS))] = ()
    reason: Annotated[str, Field(min_length=1, max_length=MAX_TEXT_LENGTH, pattern=NO_NUL)]


class LabelOut(Output):
    """Stored label."""

    id: int
    reader: str = Field(validation_alias="reader_text")
    is_adjudication: bool
    verdict: str
    kinds: list[str]
    note: str
    codebook: int
    labelled_at: datetime


class LabelImportTarget(Input):
    """Name of the label set that the labels belong to, a new one or one of the experiment; by default the file's."""

    name: Annotated[str, Field(max_length=200, pattern=NO_NUL)] = ""


class LabelImportOut(Schema):
    """Result of an import. `created`, `replaced`, `known`: labels that are new, that replaced an older one of the same
    reader, and that were stored already. `unmatched` and `invalid`: lines that were not stored, the first 100 of
    each."""

    label_set: int | None
    is_new: bool
    created: int
    replaced: int
    known: int
    items: int
    unmatched_count: int
    unmatched: list[str]
    invalid_count: int
    invalid: list[str]
