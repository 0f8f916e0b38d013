"""Labels as CSV: what is exported is imported again, lines find their responses, and nothing is lost."""

from __future__ import annotations

from io import BytesIO

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from runs.labels import csv_import
from runs.labels.commands import Decision, adjudicate
from runs.labels.csv_import import CannotImport, ImportResult, import_labels
from runs.labels.queries import labels_with_places, read_agreement
from runs.models import Experiment, Label, LabelSet
from tests.runs.labels.label_cases import items_of, label, make_response, make_run_of, make_set
from workers.analysis.labels import Label as PureLabel
from workers.analysis.labels import label_lines

pytestmark = pytest.mark.django_db
HEAD = "run,step,split,prompt,sample,question,response,reader,verdict,kinds,note,codebook,labelled_at\n"


@pytest.fixture
def runs(experiment: Experiment) -> None:
    """Two runs with a response of the same text, one that spreadsheets change, and an empty one."""
    texts = [make_response("q0", "Paris"), make_response("q1", "=1+1\r\n2"), make_response("q2", "", sample=1)]
    make_run_of(experiment, "es-one", texts)
    make_run_of(experiment, "es-two", [make_response("q0", "Paris"), make_response("q0", "Rome", step=0)], seed=1)


def read(experiment: Experiment, person: User, text: str, name: str = "Gold") -> ImportResult:
    return import_labels(experiment, person, BytesIO(text.encode()), name)


def test_file_creates_a_set_with_readings_and_decisions(runs: None, experiment: Experiment, ada: User) -> None:
    text = HEAD + (
        "es-one,5,eval,q0,0,q0?,Paris,reader-a,right,,,1,2026-01-02T10:00:00+00:00\n"
        "es-one,5,eval,q0,0,q0?,Paris,reader-b,wrong,echo,Repeats.,1,2026-01-02T10:00:00+00:00\n"
        "es-one,5,eval,q0,0,q0?,Paris,adjudicated,right,,It is.,1,2026-01-03T10:00:00+00:00\n"
        ",,,,,q2?,,reader-a,wrong,empty,,1,\n"
        'es-one,5,eval,q1,0,q1?,"=1+1\n2",reader-a,unclear,,,2,\n'
    )
    result = read(experiment, ada, text)
    assert (result.created, result.items, result.unmatched, result.problems) == (5, 3, [], [])
    assert result.label_set is not None and result.is_new
    rows = Label.objects.order_by("pk").values_list("reader_name", "is_adjudication", "verdict", "codebook")
    assert ("adjudicated", True, "right", 1) in rows and ("reader-a", False, "unclear", 2) in rows
    item = result.label_set.items.get(question="q1?")
    assert (item.response, item.run_name, item.step) == ("=1+1\r\n2", "es-one", 5)
    assert len(read_agreement(result.label_set, ada).decided) == 1


def test_exported_file_is_imported_without_a_change(runs: None, experiment: Experiment, ada: User, bo: User) -> None:
    label_set = make_set(experiment, ("=2", "'=2", 'a\r\nb, "c"'))
    for item in items_of(label_set):
        label(item, ada, "right", "echo", note="-x")
        label(item, bo, "wrong")
    adjudicate(items_of(label_set)[0], ada, Decision("wrong", (), "No."))
    labels = labels_with_places(label_set, ada)
    text = "".join(label_lines(labels))
    assert {row.run for row in labels} == {"es of labels"}
    again = read(experiment, ada, text)
    assert (again.known, again.created, again.replaced, again.items, again.problems) == (7, 0, 0, 0, [])
    other = read(experiment, ada, text, "Copy")
    assert other.created == 7 and other.label_set is not None
    copy = labels_with_places(other.label_set, ada)
    assert [label.key for label in copy] == [label.key for label in labels]
    assert read(experiment, ada, "".join(label_lines(copy)), "Copy").known == 7


def test_lines_without_response_are_listed_with_the_line(runs: None, experiment: Experiment, ada: User) -> None:
    text = HEAD + (
        "es-one,5,eval,q0,0,q0?,Berlin,reader-a,right,,,,\n"
        "nosuch,5,eval,q0,0,q0?,Paris,reader-a,right,,,,\n"
        "es-one,5,eval,q0,0,,,reader-b,right,,,,\n"
        "es-one,5,eval,q0,0,q0?,Paris,reader-a,perhaps,,,,\n"
    )
    result = read(experiment, ada, text)
    assert [str(problem) for problem in result.unmatched] == [
        "line 2: no response of this experiment has this question and text (run es-one, step 5, prompt q0)"
    ]
    assert str(result.problems[0]).startswith("line 5: verdict must be one of right, wrong, unclear")
    assert result.created == 2 and result.items == 1


def test_newer_label_of_a_reader_replaces_and_an_older_one_does_not(
    runs: None, experiment: Experiment, ada: User
) -> None:
    row = ",,,,,q0?,Paris,reader-a,{},,,1,2026-01-0{}T10:00:00+00:00\n"
    read(experiment, ada, HEAD + row.format("right", 2))
    assert read(experiment, ada, HEAD + row.format("unclear", 1)).known == 1
    newer = read(experiment, ada, HEAD + row.format("right", 3) + row.format("wrong", 4))
    assert (newer.replaced, newer.created) == (1, 0)
    assert Label.objects.current().get().verdict == "wrong" and Label.objects.count() == 2


def test_reader_of_a_file_is_never_a_user(experiment: Experiment, ada: User, bo: User) -> None:
    label_set = make_set(experiment)
    item = items_of(label_set)[0]
    label(item, bo, "right")
    forged = HEAD + f",,,,,{item.question},{item.response},bo,wrong,,,,\n"
    result = read(experiment, ada, forged)
    assert str(result.problems[0]).startswith("line 2: bo labels this set with an account")
    assert Label.objects.current().get().verdict == "right"
    other = items_of(label_set)[1]
    read(experiment, ada, HEAD + f",,,,,{other.question},{other.response},cy,wrong,,,,\n")
    assert Label.objects.filter(reader=None, reader_name="cy").exists()


def test_user_and_imported_reader_of_one_name_differ(experiment: Experiment, ada: User, bo: User) -> None:
    label_set = make_set(experiment)
    item = items_of(label_set)[0]
    read(experiment, ada, HEAD + f",,,,,{item.question},{item.response},bo,wrong,,,,\n")
    label(item, bo, "right")
    agreement = read_agreement(label_set, ada)
    assert agreement.pairs[0].readers == ("bo", "bo (imported)")
    text = "".join(label_lines(labels_with_places(label_set, ada)))
    assert read(experiment, ada, text).known == 2


def test_archived_or_full_set_refuses_a_file(
    runs: None, experiment: Experiment, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HEAD + ",,,,,q0?,Paris,a,right,,,,\n,,,,,q0?,Rome,a,right,,,,\n"
    monkeypatch.setattr(csv_import, "MAX_ITEMS", 1)
    with pytest.raises(CannotImport, match="at most 1 responses"):
        read(experiment, ada, text)
    assert not LabelSet.objects.exists()
    monkeypatch.undo()
    read(experiment, ada, text)
    LabelSet.objects.update(archived_at="2026-01-01T00:00:00Z")
    with pytest.raises(CannotImport, match="is archived"):
        read(experiment, ada, text)


def test_lines_beyond_the_limit_are_named(
    runs: None, experiment: Experiment, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_import, "MAX_LINES", 1)
    result = read(experiment, ada, HEAD + ",,,,,q0?,Paris,a,right,,,,\n,,,,,q0?,Rome,a,right,,,,\n")
    assert result.created == 1
    assert str(result.problems[0]) == "line 3: a file has at most 1 labels; split it"


def test_import_page_reports_the_result(ada_client: Client, runs: None, experiment: Experiment) -> None:
    address = reverse("labels-import", args=[experiment.pk])
    text = HEAD + ",,,,,q0?,Paris,a,right,,,,\n,,,,,q0?,<b>,a,right,,,,\n,,,,,q0?,Paris,a,odd,,,,\n"
    reply = ada_client.post(address, {"file": SimpleUploadedFile("Gold labels.csv", text.encode())})
    page = reply.content.decode()
    assert reply.status_code == 200 and "1 new labels" in page
    assert "line 3: no response" in page and "line 4: verdict must be one of" in page
    assert LabelSet.objects.get().name == "Gold labels"
    assert ada_client.post(address, {}).status_code == 400
    bad = ada_client.post(address, {"file": SimpleUploadedFile("x.csv", b"\xff\xfe\x00,b\n1")})
    assert bad.status_code == 400 and "the heading lacks question" in bad.content.decode()


def test_label_of_a_long_note_is_exported(experiment: Experiment, ada: User) -> None:
    label_set = make_set(experiment, readers=1)
    label(items_of(label_set)[0], ada, "right", note="n" * 9000)
    (row,) = labels_with_places(label_set, ada)
    assert isinstance(row, PureLabel) and len(row.note) == 9000
