"""The first start: three ways on, each for the users who may take it."""

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse

from runs.access import Role, give_role
from runs.models import Experiment

pytestmark = pytest.mark.django_db


def text(client):
    return " ".join(client.get("/").content.decode().split())


def test_preset_is_tried_in_a_new_experiment_with_its_launch_form(ada_client, ada):
    assert f'action="{reverse("try-preset")}"' in text(ada_client)
    response = ada_client.post(reverse("try-preset"))
    experiment = Experiment.objects.get(owner=ada)
    assert response.headers["Location"] == f"{reverse('launch', args=[experiment.pk])}?preset=es-tiny"
    ada_client.post(reverse("try-preset"))
    assert Experiment.objects.filter(owner=ada).count() == 1


def test_preview_states_that_the_model_is_made_once(ada_client):
    assert "The first run also makes the tiny model, once" in text(ada_client)


def test_only_an_administrator_is_offered_to_connect_a_cluster(ada_client, ada):
    address = reverse("settings-cluster-new")
    page = text(ada_client)
    assert address not in page and "ask an administrator of this server" in page
    assert reverse("import") in page
    give_role(ada, Role.ADMIN)
    assert address in text(ada_client)


def test_viewer_is_offered_nothing_to_create(bo_client, bo):
    bo.groups.add(Group.objects.get_or_create(name="viewers")[0])
    page = text(bo_client)
    assert reverse("try-preset") not in page and reverse("import") not in page
    assert bo_client.post(reverse("try-preset")).status_code == 403
    assert not Experiment.objects.exists()
