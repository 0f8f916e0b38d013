"""Pages of flags: the panel of a run, dismissals with their rights, and thresholds of the site and of experiments."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from runs import flags
from runs.access import Scope, link_text
from runs.models import Experiment, Flag, FlagCheck, FlagDismissal, FlagThresholds, Response, Run
from runs.templatetags.flags import blank_text, visible_text
from tests.cases import each_case
from tests.runs.flags.flag_cases import EMPTY, detectors, evaluation, make_flagged_run
from tests.runs.full_runs import make_run, record
from workers.analysis.detectors import DETECTORS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_dir")]
EVIL = "<script>alert(1)</script>"


@pytest.fixture
def run(experiment: Experiment) -> Run:
    return make_flagged_run(experiment)


@pytest.fixture
def flag(run: Run) -> Flag:
    return Flag.objects.get(run=run, detector="empty")


@pytest.fixture
def admin_client(ada: User) -> Client:
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    client = Client()
    client.force_login(User.objects.get(pk=ada.pk))
    return client


def page_of(client: Client, run: Run) -> str:
    """Return the run's page."""
    return client.get(run.get_absolute_url()).content.decode()


def dismiss(client: Client, flag: Flag, reason: str = "The task wants silence.", **headers: str):
    """Post the form that dismisses a flag."""
    address = reverse("flag-dismiss", args=[flag.run.uid, flag.pk])
    return client.post(address, {"reason": reason, "data_hash": flag.data_hash}, headers=headers)


def test_panel_shows_open_flags_with_pairs_of_responses(ada_client: Client, run: Run) -> None:
    page = page_of(ada_client, run)
    assert 'id="flags"' in page
    assert "Empty responses" in page and "Reward up, right answers down" in page
    assert "10 of 10 responses are empty" in page
    assert "Before training, step 0" in page and "The capital is Paris, I think." in page
    assert "(empty)" in page
    assert f'href="{reverse("viewer")}?run={run.uid}@10&amp;run={run.uid}@0"' in page
    assert "first at step" not in page


def test_run_without_flags_has_no_panel(ada_client: Client, experiment: Experiment) -> None:
    run = make_run(experiment)
    record(run, evaluation(0))
    flags.check_all_due(60)
    assert 'id="flags"' not in page_of(ada_client, run)


def test_panel_is_part_of_the_summary_that_an_open_page_refreshes(ada_client: Client, run: Run) -> None:
    text = ada_client.get(run.get_absolute_url(), headers={"hx-request": "true"}).content.decode()
    assert 'id="flags"' in text and "<h1>" not in text


def test_responses_and_reasons_are_text(ada_client: Client, flag: Flag) -> None:
    now = [now for _, now in flag.examples]
    Response.objects.filter(pk__in=now).update(text=EVIL)
    assert EVIL not in page_of(ada_client, flag.run)
    assert "&lt;script&gt;alert(1)" in page_of(ada_client, flag.run)
    dismiss(ada_client, flag, EVIL)
    page = page_of(ada_client, flag.run)
    assert EVIL not in page
    assert page.count("&lt;script&gt;alert(1)") > 0


def test_responses_that_may_disturb_are_covered_until_the_user_shows_them(ada_client: Client, flag: Flag) -> None:
    _, now = flag.examples[0]
    Response.objects.filter(pk=now).update(parts={"cost": 1.5}, text="how to do harm")
    covered = '<p class="said answer-text" aria-hidden="true">how to do harm</p>'
    page = page_of(ada_client, flag.run)
    assert covered in page and "Show responses" in page
    ada_client.post(reverse("viewer-cover"), {"show": "now", "next": flag.run.get_absolute_url()})
    page = page_of(ada_client, flag.run)
    assert covered not in page and "how to do harm" in page


def test_dismissal_closes_the_flag_and_shows_its_reason(ada_client: Client, flag: Flag) -> None:
    answer = dismiss(ada_client, flag)
    assert answer.status_code == 302
    assert answer["Location"] == f"{flag.run.get_absolute_url()}#flags"
    assert detectors(flag.run) == ["accuracy"]
    page = page_of(ada_client, flag.run)
    assert "1 dismissed flag" in page and "The task wants silence." in page
    assert "Dismissed at step 10 by ada" in page


def test_dismissal_by_htmx_loads_the_page_again(ada_client: Client, flag: Flag) -> None:
    answer = dismiss(ada_client, flag, **{"HX-Request": "true"})
    assert answer["HX-Redirect"] == flag.run.get_absolute_url()
    assert FlagDismissal.objects.get().reason == "The task wants silence."


@each_case("reason", ["", "  \n ", "a" * 2001], ids=["empty", "blank", "long"])
def test_missing_reason_is_refused_in_place(ada_client: Client, flag: Flag, reason: str) -> None:
    answer = dismiss(ada_client, flag, reason)
    assert answer.status_code == 400
    page = answer.content.decode()
    assert reason.strip() in page and 'class="errors"' in page
    part = dismiss(ada_client, flag, reason, **{"HX-Request": "true"})
    assert part.status_code == 200
    assert "<html" not in part.content.decode() and 'class="errors"' in part.content.decode()
    assert not FlagDismissal.objects.exists()


def test_flag_that_changed_meanwhile_is_not_dismissed(ada_client: Client, flag: Flag) -> None:
    record(flag.run, evaluation(20, EMPTY, reward=-4.0, accuracy=0.0))
    flags.check_all_due(60)
    answer = dismiss(ada_client, flag)
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "of step 20" in page and "The task wants silence." in page
    assert not FlagDismissal.objects.exists()
    flag.refresh_from_db()
    assert f'value="{flag.data_hash}"' in page
    assert dismiss(ada_client, flag).status_code == 302


def test_undo_opens_the_flag_again_and_keeps_the_reason(ada_client: Client, flag: Flag) -> None:
    dismiss(ada_client, flag)
    answer = ada_client.post(reverse("flag-undo", args=[flag.run.uid, flag.pk]))
    assert answer.status_code == 302
    assert detectors(flag.run) == ["accuracy", "empty"]
    page = page_of(ada_client, flag.run)
    assert "Earlier dismissals" in page and "The task wants silence." in page and "Undone by ada" in page


def test_flag_of_an_earlier_step_is_listed_apart(ada_client: Client, run: Run) -> None:
    record(run, evaluation(20, reward=-4.0))
    flags.check_all_due(60)
    page = page_of(ada_client, run)
    assert "2 earlier flags" in page
    assert "fired at step 10, no longer at step 20." in page
    assert "0 open" in page


def test_flag_that_other_thresholds_ended_says_so(ada_client: Client, ada: User, run: Run) -> None:
    flags.set_thresholds(run.experiment, {"empty": 0.9}, ada)
    flags.check_all_due(60)
    assert "fired at step 10, no longer with the present thresholds or comparison." in page_of(ada_client, run)


def test_run_without_flags_names_the_detectors_that_too_few_responses_keep_quiet(
    ada_client: Client, experiment: Experiment
) -> None:
    run = make_run(experiment)
    record(run, [*evaluation(0), *evaluation(10)])
    flags.check_all_due(60)
    page = " ".join(page_of(ada_client, run).split())
    assert "0 open" in page
    assert "With 10 responses at the first evaluation after training began, these stay quiet" in page
    assert "<li>Much longer responses</li>" in page and "<li>Empty responses</li>" not in page


def test_user_who_may_not_change_the_run_reads_only(bo_client: Client, flag: Flag) -> None:
    page = page_of(bo_client, flag.run)
    assert "Empty responses" in page
    assert reverse("flag-dismiss", args=[flag.run.uid, flag.pk]) not in page
    assert reverse("experiment-flags", args=[flag.run.experiment_id]) not in page
    assert dismiss(bo_client, flag).status_code == 403
    assert bo_client.post(reverse("flag-undo", args=[flag.run.uid, flag.pk])).status_code == 403
    assert not FlagDismissal.objects.exists()


def test_flags_of_private_experiments_do_not_exist_for_others(
    bo_client: Client, private_experiment: Experiment
) -> None:
    run = make_flagged_run(private_experiment)
    flag = Flag.objects.filter(run=run)[0]
    assert dismiss(bo_client, flag).status_code == 404
    assert bo_client.post(reverse("flag-undo", args=[run.uid, flag.pk])).status_code == 404
    assert bo_client.get(reverse("experiment-flags", args=[private_experiment.pk])).status_code == 404


def test_flag_belongs_to_one_run(ada_client: Client, flag: Flag, experiment: Experiment) -> None:
    other = make_run(experiment, seed=1)
    assert ada_client.post(reverse("flag-dismiss", args=[other.uid, flag.pk]), {"reason": "x"}).status_code == 404


def test_guest_with_a_link_reads_open_flags_without_names_of_other_runs(client: Client, ada: User, flag: Flag) -> None:
    Flag.objects.filter(pk=flag.pk).update(compared_with="step 0 of another run, Unshared")
    page = client.get(reverse("shared", args=[link_text(ada, Scope.RUN, [flag.run.uid], "day")])).content.decode()
    assert "Empty responses" in page and "10 of 10 responses are empty" in page
    assert "Unshared" not in page and "Dismiss" not in page and "The capital is" not in page


def test_site_thresholds_are_for_admins(bo_client: Client, admin_client: Client) -> None:
    assert bo_client.get(reverse("settings-flags")).status_code == 403
    assert bo_client.post(reverse("settings-flags"), {"empty": "0.5"}).status_code == 403
    page = admin_client.get(reverse("settings-flags")).content.decode()
    for detector in DETECTORS:
        assert f'id="threshold-{detector.name}"' in page
        assert detector.sources.replace("'", "&#x27;") in page


def test_saved_site_thresholds_apply_and_have_the_runs_checked_again(admin_client: Client, run: Run) -> None:
    answer = admin_client.post(reverse("settings-flags"), {"empty": "0.25", "off-accuracy": "on"}, follow=True)
    page = answer.content.decode()
    assert "is being checked again" in page and "Changed by ada" in page
    assert FlagThresholds.objects.get(experiment=None).values == {"empty": 0.25, "accuracy": None}
    assert FlagCheck.objects.get(run=run).checked < FlagCheck.objects.get(run=run).arrived
    flags.check_all_due(60)
    assert detectors(run) == ["empty"]
    assert 'value="0.25"' in page


def test_experiment_inherits_overrides_and_resets(ada_client: Client, ada: User, run: Run) -> None:
    flags.set_thresholds(None, {"language": 0.4}, ada)
    address = reverse("experiment-flags", args=[run.experiment_id])
    ada_client.post(address, {"empty": "0.3", "collapse": "0.5"})
    assert FlagThresholds.objects.get(experiment=run.experiment).values == {"empty": 0.3, "collapse": 0.5}
    page = ada_client.get(address).content.decode()
    row = re.search(r'id="detector-language".*?</tr>', page, re.DOTALL)
    assert row and row[0].count(">0.4<") == 2
    ada_client.post(address, {"empty": "0.3", "collapse": "no number", "reset": "collapse"})
    assert FlagThresholds.objects.get(experiment=run.experiment).values == {"empty": 0.3}
    ada_client.post(address, {})
    assert flags.thresholds_of(run.experiment) == flags.thresholds_of(None)


@each_case("value", ["1.5", "-0.1", "nan", "a lot", EVIL], ids=["high", "low", "nan", "word", "html"])
def test_bad_threshold_stays_and_names_the_range(ada_client: Client, experiment: Experiment, value: str) -> None:
    answer = ada_client.post(reverse("experiment-flags", args=[experiment.pk]), {"empty": value, "language": "0.2"})
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "Enter a number from 0 to 1." in page
    assert f'value="{value.replace("<", "&lt;").replace(">", "&gt;")}"' in page and 'value="0.2"' in page
    assert not FlagThresholds.objects.exists()


def test_thresholds_of_an_experiment_are_for_those_who_may_change_it(bo_client: Client, experiment: Experiment) -> None:
    address = reverse("experiment-flags", args=[experiment.pk])
    assert bo_client.get(address).status_code == 403
    assert bo_client.post(address, {"empty": "0.5"}).status_code == 403
    assert not FlagThresholds.objects.exists()


def test_pages_take_as_many_queries_for_many_flags(ada_client, run, django_assert_max_num_queries) -> None:
    address = run.get_absolute_url()
    ada_client.get(address)
    with django_assert_max_num_queries(40) as few:
        ada_client.get(address)
    pattern = Flag.objects.get(run=run, detector="empty")
    for detector in ("special_tokens", "language", "padding", "length_limit"):
        pattern.pk, pattern.detector = None, detector
        pattern.save(force_insert=True)
    with django_assert_max_num_queries(len(few)):
        ada_client.get(address)


def test_badges_show_two_flags_and_the_number_of_others() -> None:
    names = ("empty", "padding", "length_limit", "kl_band")
    many = [Flag(detector=name, step=1, value=0.5, limit=0.1, n=10, before=0.0) for name in names]
    html = render_to_string("flags/badges.html", {"flags": many})
    assert html.count("badge tone-bad") == 3
    assert "Empty responses" in html and "Tokens without text" in html
    assert "+2" in html and 'title="Responses cut at the limit, KL far above other runs"' in html
    assert "+" not in render_to_string("flags/badges.html", {"flags": many[:2]})


@each_case(
    ("text", "shown"),
    [
        ("", "(empty)"),
        (" ", "(only white space: 1 character)"),
        ("\n" * 9, "(only white space: 9 characters)"),
        ("\u200b\u200b", "(only white space: 2 characters)"),
        ("No.", ""),
    ],
    ids=["empty", "space", "lines", "zero-width", "text"],
)
def test_blank_texts_are_named(text: str, shown: str) -> None:
    assert blank_text(text) == shown


def test_long_white_space_is_counted() -> None:
    assert visible_text("No." + "\n" * 40 + "Yes") == "No. ⟨white space: 40 characters⟩ Yes"
    assert visible_text("a  b\n\nc") == "a  b\n\nc"
