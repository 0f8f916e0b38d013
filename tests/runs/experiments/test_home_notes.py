"""Unread notes on the home page: notes that others changed since the user's last mark, and the mark itself."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from runs.experiments import audit_log
from runs.experiments.home.notes import MAX_NOTES, UNDO_PERIOD, unread_notes
from runs.models import Experiment, Preference
from tests.cases import each_case
from tests.runs.experiments.test_home import home, section_html
from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _accounts_are_old(ada, bo):
    """Let all changes of a test be newer than the accounts."""
    for person in (ada, bo):
        person.date_joined = timezone.now() - timedelta(days=9)
        person.save()


def write_note(target, person, text="Repeat it with a *lower* rate.", field="note"):
    audit_log.change(target, person, {field: text})


def texts(person):
    return [note.text for note in unread_notes(person).unread]


def mark_read(client, until=None, **data):
    until = until or client.get("/").context["notes"].until
    return client.post(reverse("home-notes"), {"until": until.isoformat(), **data})


def test_notes_of_others_are_listed_newest_first_with_author_and_first_lines(ada_client, bo, experiment):
    run = make_run(experiment)
    write_note(experiment, bo, "It diverges.\n\nSee <seed 3>.")
    write_note(run, bo, "Too good to be true")
    page = section_html(ada_client, "notes")
    assert page.index("Too good to be true") < page.index("It diverges.\nSee &lt;seed 3&gt;.")
    assert run.get_absolute_url() in page and experiment.get_absolute_url() in page
    assert "by bo, <time" in page
    assert "2 of 2 shown" in page


def test_changed_question_is_listed_as_a_question(ada_client, bo, experiment):
    write_note(experiment, bo, "Which learns sooner?", "question")
    page = section_html(ada_client, "notes")
    assert "Which learns sooner?" in page and "question, by bo" in page


def test_own_notes_and_other_changes_are_not_listed(ada, ada_client, bo, experiment):
    write_note(experiment, ada)
    write_note(make_run(experiment), bo, ["paper"], "tags")
    assert 'id="notes"' not in home(ada_client)


def test_note_that_the_user_changed_later_is_read(ada, bo, experiment):
    write_note(experiment, bo, "Why?")
    write_note(experiment, ada, "Why? Because.")
    assert texts(ada) == []
    assert texts(bo) == ["Why? Because."]


def test_removed_note_is_not_listed(ada, bo, experiment):
    write_note(experiment, bo)
    write_note(experiment, bo, "")
    assert texts(ada) == []
    write_note(experiment, bo, "Sooner?", "question")
    write_note(experiment, bo, "A note")
    write_note(experiment, bo, "")
    assert texts(ada) == ["Sooner?"]


def test_notes_older_than_the_account_are_read(ada, ada_client, bo, experiment):
    write_note(experiment, bo)
    ada.date_joined = timezone.now()
    ada.save()
    assert "There are no unread notes." in section_html(ada_client, "notes")


def test_private_archived_and_deleted_notes_are_hidden(bo, ada, experiment, private_experiment):
    write_note(private_experiment, ada)
    write_note(make_run(private_experiment), ada)
    for seed, field in enumerate(("archived_at", "deleted_at")):
        run = make_run(experiment, seed=seed)
        write_note(run, ada)
        setattr(run, field, timezone.now())
        run.save()
    assert not unread_notes(bo).is_shown


def test_marked_notes_are_read_and_later_ones_are_not(ada, ada_client, bo, experiment):
    write_note(experiment, bo, "first")
    answer = mark_read(ada_client)
    assert answer["Location"] == "/#notes"
    assert texts(ada) == []
    run = make_run(experiment)
    write_note(run, bo, "second")
    assert texts(ada) == ["second"]
    write_note(experiment, bo, "third")
    assert texts(ada) == ["third", "second"]


def test_note_that_changed_after_the_page_was_rendered_stays_unread(ada, ada_client, bo, experiment):
    write_note(experiment, bo, "seen")
    until = ada_client.get("/").context["notes"].until
    write_note(make_run(experiment), bo, "unseen")
    mark_read(ada_client, until)
    assert texts(ada) == ["unseen"]


def test_mark_is_of_one_user(ada, ada_client, bo, experiment, django_user_model):
    carl = django_user_model.objects.create(username="carl", date_joined=timezone.now() - timedelta(days=9))
    write_note(experiment, bo)
    mark_read(ada_client)
    assert texts(ada) == [] and len(texts(carl)) == 1
    assert not Preference.objects.get(person=ada).shows_answers


def test_mark_in_the_future_is_a_mark_of_now(ada, ada_client, bo, experiment):
    mark_read(ada_client, timezone.now() + timedelta(days=400))
    write_note(experiment, bo, "later")
    assert texts(ada) == ["later"]


def test_older_mark_of_another_tab_changes_nothing(ada, ada_client, bo, experiment):
    write_note(experiment, bo)
    mark_read(ada_client)
    mark_read(ada_client, timezone.now() - timedelta(days=1))
    assert texts(ada) == []


@pytest.mark.parametrize("undone", [1, 2])
def test_mark_can_be_undone_once_or_twice(ada, ada_client, bo, experiment, undone):
    write_note(experiment, bo, "first")
    mark_read(ada_client)
    write_note(make_run(experiment), bo, "second")
    mark_read(ada_client)
    page = section_html(ada_client, "notes")
    assert "Marked as read." in page and 'name="undo"' in page
    undo = ada_client.get("/").context["notes"].undo
    for _ in range(undone):
        mark_read(ada_client, undo, undo="1")
    assert texts(ada) == ["second"]


def test_undo_is_offered_for_some_minutes(ada_client, bo, experiment):
    write_note(experiment, bo)
    mark_read(ada_client)
    Preference.objects.update(notes_marked_at=timezone.now() - UNDO_PERIOD)
    page = section_html(ada_client, "notes")
    assert "There are no unread notes." in page and 'name="undo"' not in page


def test_address_stays_after_a_mark(ada_client, bo, experiment):
    write_note(experiment, bo)
    assert f'action="{reverse("home-notes")}?since=7d"' in section_html(ada_client, "notes", since="7d")
    until = timezone.now().isoformat()
    answer = ada_client.post(f"{reverse('home-notes')}?since=7d", {"until": until})
    assert answer["Location"] == "/?since=7d#notes"


@each_case("until", ["", "yesterday", "2026-13-01T00:00", "2026-01-01T00:00", "0001-01-01T00:00+14:00"])
def test_invalid_time_is_an_error_with_an_example(ada_client, experiment, until):
    answer = ada_client.post(reverse("home-notes"), {"until": until}, follow=True)
    assert "until must be a time such as" in answer.content.decode()
    assert not LogEntry.objects.exists()


def test_mark_needs_a_post(ada_client):
    assert ada_client.get(reverse("home-notes")).status_code == 405


def test_many_notes_are_counted_and_queries_stay_constant(ada, ada_client, bo, experiment):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            unread_notes(ada)
        return len(captured)

    write_note(experiment, bo)
    write_note(make_run(experiment, seed=0), bo)
    before = queries()
    for seed in range(1, MAX_NOTES + 3):
        write_note(make_run(experiment, seed=seed), bo, f"note {seed}")
        write_note(Experiment.objects.create(name=f"E{seed}", owner=bo), bo, f"note on {seed}")
    assert queries() == before <= 5
    notes = unread_notes(ada)
    assert len(notes.unread) == MAX_NOTES and notes.total == 2 * (MAX_NOTES + 3)
    assert "Mark all as read" in section_html(ada_client, "notes")
