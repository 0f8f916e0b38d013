"""Saved views over the API: one's own, and those that others share."""

import pytest

from runs.models import SavedView
from tests.runs.api_client import calls, paths


@pytest.fixture
def api(ada):
    return calls(ada, "launch")


def save(api, **body):
    body = {"name": "Best first", "page": "experiments"} | body
    return api.post("/api/v1/views", body, content_type="application/json")


def test_a_view_is_saved_changed_and_forgotten(api, experiment):
    saved = save(api, page="experiment", experiment=experiment.pk, query="sort=-reward").json()
    assert saved["url"] == f"/experiments/{experiment.pk}/?sort=-reward"
    address = f"/api/v1/views/{saved['id']}"
    changed = api.patch(address, {"query": "", "is_shared": True}, content_type="application/json").json()
    assert changed == saved | {"query": "", "is_shared": True, "url": f"/experiments/{experiment.pk}/"}
    assert api.get("/api/v1/views").json()["items"] == [changed] == [api.get(address).json()]
    assert api.get(f"/api/v1/views?experiment={experiment.pk}").json()["items"] == [changed]
    assert api.get(f"/api/v1/views?experiment={experiment.pk + 1}").status_code == 404
    assert (api.delete(address).status_code, api.get(address).status_code) == (204, 404)


def test_others_see_what_is_shared_and_change_nothing(api, bo):
    own, shared = save(api, name="own").json()["id"], save(api, name="shared", is_shared=True).json()["id"]
    other_api = calls(bo, "launch")
    assert [view["name"] for view in other_api.get("/api/v1/views").json()["items"]] == ["shared"]
    assert other_api.get(f"/api/v1/views/{own}").status_code == 404
    for pk in (own, shared):
        assert other_api.patch(f"/api/v1/views/{pk}", {}, content_type="application/json").status_code == 404
        assert other_api.delete(f"/api/v1/views/{pk}").status_code == 404


def test_shared_view_of_a_private_experiment_is_hidden_from_others(api, bo, private_experiment):
    saved = save(api, page="experiment", experiment=private_experiment.pk, is_shared=True)
    assert calls(bo).get(f"/api/v1/views/{saved.json()['id']}").status_code == 404
    refused = save(calls(bo), page="experiment", experiment=private_experiment.pk)
    assert refused.status_code == 404


def test_view_name_is_unique_for_its_owner(api, bo):
    assert [save(api).status_code, save(calls(bo)).status_code, save(api).status_code] == [201, 201, 409]
    other = save(api, name="other").json()["id"]
    refused = api.patch(f"/api/v1/views/{other}", {"name": "Best first"}, content_type="application/json")
    assert (refused.status_code, "already" in refused.json()["detail"]) == (409, True)
    assert SavedView.objects.count() == 3


def test_a_view_is_of_a_page_of_ours(api):
    assert "'experiments'" in paths(save(api, page="https://evil.example/"))["new.page"]
    assert "must name its experiment" in " ".join(paths(save(api, page="experiment")).values())
    assert "must name its experiment" in " ".join(paths(save(api, experiment=1)).values())
