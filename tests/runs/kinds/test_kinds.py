"""Each kind is whole: every tab, template, route and setting that it names exists; a run has the kind of its method."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.template.loader import get_template
from django.urls import reverse

from runs import kinds
from runs.kinds import EXTERNAL, IMPORTED, KINDS, LAUNCHED, ORIGINS, Kind, Origin, kind_of
from runs.launching.config_form.fields import SETTINGS
from runs.models import Experiment, ExternalRun, Import, Run
from runs.run_page.tabs import TABS
from workers.config import RunConfig
from workers.config.methods import METHODS

ALL = [kind_of(kind.method, origin) for kind in KINDS for origin in ORIGINS]


def _id(kind: Kind) -> str:
    return f"{kind.origin.slug}-{kind.slug}"


def test_every_method_has_one_kind() -> None:
    assert sorted(method for kind in KINDS for method in kind.methods) == sorted(METHODS)
    assert len({kind.slug for kind in KINDS}) == len(KINDS)
    examinable = {m for kind in KINDS if kind.can_be_examined for m in kind.methods if METHODS[m].saves_weights}
    assert examinable == set(kinds.EXAMINABLE_METHODS)


@pytest.mark.parametrize("kind", ALL, ids=_id)
def test_kind_names_only_what_exists(kind: Kind) -> None:
    assert set(kind.tabs) <= set(TABS)
    for template in (kind.origin_template, kind.results_template, kind.no_curves_template):
        assert get_template(template)
    assert set(kind.essential) <= set(SETTINGS)
    if kind.results_page is not None:
        assert reverse(kind.results_page.route, args=[1])
    if kind.examination is not None:
        fields = {*kind.examination.copies}
        fields |= {f"{kind.examination.method}.{kind.examination.setting}"} if kind.examination.setting else set()
        assert kind.examination.method == kind.method
        assert fields <= {*SETTINGS, *RunConfig.__dataclass_fields__}
    if not kind.is_listed:
        assert str(kind.unlisted_text % {"n": 1}) != str(kind.unlisted_text % {"n": 2})
        assert str(kind.show_text % {"n": 1}) != str(kind.show_text % {"n": 2})


@pytest.mark.parametrize("kind", ALL, ids=_id)
def test_kind_has_sentences_with_the_names_of_the_run(kind: Kind) -> None:
    texts = (kind.resumption.refusal, kind.resumption.message, kind.resume_refusal, kind.cancel_refusal)
    for text in filter(None, texts):
        assert "es-tiny" in text % {"name": "es-tiny", "n": 2}
    assert kind.runs_here == (kind.origin is LAUNCHED)
    assert kind.runs_here or kind.resume_refusal


def test_kind_of_an_unknown_method_is_a_training() -> None:
    assert kind_of("ppo").slug == kind_of("es").slug
    assert kind_of("ppo", EXTERNAL).origin is EXTERNAL
    assert kind_of("evaluate", IMPORTED).tabs == kind_of("evaluate").tabs


@pytest.mark.django_db
@pytest.mark.parametrize("origin", ORIGINS, ids=lambda origin: origin.slug)
def test_run_has_the_kind_of_its_method_and_origin(origin: Origin) -> None:
    person = User.objects.create_user("kinds")
    experiment = Experiment.objects.create(name="Kinds", owner=person)
    for method in (*METHODS, "ppo"):
        run = Run.objects.create(
            experiment=experiment, name=method, method=method, seed=0, config={"method": method}, created_by=person
        )
        if origin is IMPORTED:
            Import.objects.create(run=run, kind="log", name="log.txt", sha256=run.uid, bytes=1, part=0)
        if origin is EXTERNAL:
            ExternalRun.objects.create(run=run, owner=person)
    runs = Run.objects.filter(experiment=experiment).select_related("source", "external")
    assert {run.method: run.kind for run in runs} == {m: kind_of(m, origin) for m in (*METHODS, "ppo")}
    assert {run.pk for run in runs.filter(**origin.filters)} == {run.pk for run in runs}
    for kind in KINDS:
        assert {run.method for run in runs.of_kind(kind)} == set(kind.methods)
    assert {run.method for run in runs.trainings()} == {m for m in (*METHODS, "ppo") if kind_of(m).is_listed}
