"""API tokens: each is displayed once, stored as a digest and bound to a scope and a lifetime."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from esweb.api import api
from runs import access
from runs.accounts.forms import TokenForm
from runs.models import ApiToken
from runs.models.token import SCOPES
from tests.cases import each_case
from tests.runs.attempt_records import make_run


def test_token_text_verifies_and_is_not_stored(ada):
    token, text = access.issue(ada, "launch", name="laptop")
    assert text.startswith("esw_")
    assert len(text) > 40
    assert access.verify(text) == token
    row = ApiToken.objects.values().get()
    assert all(text not in str(value) and text[4:] not in str(value) for value in row.values())


def test_tokens_differ(ada):
    assert access.issue(ada, "read")[1] != access.issue(ada, "read")[1]


@each_case("text", ["", "esw_", "esw_" + "x" * 43, "\ud7ff" * 10])
def test_unknown_token_text_is_refused(db, text):
    assert access.verify(text) is None


def test_expired_token_is_refused(ada):
    token, text = access.issue(ada, "read", days=1)
    assert timedelta(hours=23) < token.expires_at - timezone.now() <= timedelta(days=1)
    ApiToken.objects.update(expires_at=timezone.now())
    assert access.verify(text) is None


def test_token_expires_after_ninety_days_by_default(ada):
    token, _ = access.issue(ada, "read")
    assert (token.expires_at - timezone.now()).days in (89, 90)


def test_token_of_an_inactive_user_is_refused(ada):
    _, text = access.issue(ada, "read")
    ada.is_active = False
    ada.save()
    assert access.verify(text) is None


def test_last_use_is_updated_at_most_once_a_minute(ada, django_assert_num_queries):
    _, text = access.issue(ada, "read")
    access.verify(text)
    first = ApiToken.objects.get().last_used_at
    assert first is not None
    access.verify(text)
    assert ApiToken.objects.get().last_used_at == first
    ApiToken.objects.update(last_used_at=first - timedelta(minutes=2))
    access.verify(text)
    assert ApiToken.objects.get().last_used_at > first


def test_scopes_include_their_rights():
    allowed = {needed: {s for s in SCOPES if access.includes(s, needed)} for needed in SCOPES}
    assert allowed == {
        "read": {"read", "launch", "admin"},
        "ingest": {"ingest", "admin"},
        "report": {"report", "launch", "admin"},
        "launch": {"launch", "admin"},
        "serve": {"serve", "admin"},
        "admin": {"admin"},
    }


def test_scopes_are_offered_with_their_help(ada):
    choices = dict(TokenForm(ada).fields["scope"].choices)
    assert choices.keys() == SCOPES.keys()
    assert all(str(text).startswith(f"{name}: ") for name, text in choices.items())
    assert api.get_openapi_schema()["components"]["schemas"]["NewToken"]["properties"]["scope"]["enum"] == [*SCOPES]


def test_an_ingest_token_is_bound_to_a_run_and_no_other_is(ada, experiment):
    run = make_run(experiment)
    token, _ = access.issue(ada, "ingest", run=run)
    assert token.run == run
    for scope, bound in (("ingest", None), ("launch", run)):
        with pytest.raises(access.CannotIssue, match="needs a run"):
            access.issue(ada, scope, run=bound)


def test_only_who_made_or_owns_it_changes_it(ada, bo, cy, admin_user, experiment):
    run = make_run(experiment)
    run.created_by = bo
    assert [access.may_cancel(p, run) for p in (ada, bo, cy, admin_user)] == [True, True, False, True]
    assert [access.may_launch(p, experiment) for p in (ada, bo, cy, admin_user)] == [True, False, False, True]


def create(*arguments):
    out, errors = StringIO(), StringIO()
    call_command("createtoken", *arguments, stdout=out, stderr=errors)
    return out.getvalue().strip(), errors.getvalue()


def test_the_command_prints_the_token_alone_on_stdout(ada):
    text, errors = create("ada", "--scope", "launch", "--days", "7", "--name", "ci")
    token = access.verify(text)
    assert (token.user, token.scope, token.name) == (ada, "launch", "ci")
    assert "shown only once" in errors


def test_the_command_names_the_valid_choices(ada, experiment):
    with pytest.raises(CommandError, match="must be one of read, ingest, report, launch, serve, admin, not 'all'"):
        create("ada", "--scope", "all")
    with pytest.raises(CommandError, match="Unknown user 'eve'; the users are: ada"):
        create("eve", "--scope", "read")
    with pytest.raises(CommandError, match="1 to 3650 days"):
        create("ada", "--scope", "read", "--days", "0")
    with pytest.raises(CommandError, match="no run 'nothing' that ada may see"):
        create("ada", "--scope", "ingest", "--run", "nothing")


def test_the_command_binds_an_ingest_token_to_its_run(ada, experiment):
    run = make_run(experiment)
    text, _ = create("ada", "--scope", "ingest", "--run", run.uid)
    assert access.verify(text).run == run


def test_createtoken_explains_how_to_create_the_first_user(db):
    with pytest.raises(CommandError, match="createsuperuser"):
        create("ada", "--scope", "read")
