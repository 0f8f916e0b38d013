"""ETags: reading again costs nothing, and changing changes what was read."""

import pytest
from django.test import Client

from runs.models import Experiment
from tests.runs.api_client import calls
from tests.runs.full_runs import make_run


@pytest.fixture
def api(ada):
    return calls(ada, "launch")


@pytest.fixture
def addresses(experiment, api):
    view = api.post("/api/v1/views", {"name": "x", "page": "experiments"}, content_type="application/json").json()
    run = make_run(experiment)
    return [f"/api/v1/experiments/{experiment.pk}", f"/api/v1/runs/{run.uid}", f"/api/v1/views/{view['id']}"]


def change(api, address, etag, **body):
    return api.patch(address, body, content_type="application/json", headers={"if-match": etag})


def test_unchanged_row_is_not_sent_again(api, addresses):
    for address in [*addresses, "/api/v1/runs", "/api/v1/experiments", "/api/v1/presets", "/api/v1/openapi.json"]:
        first = api.get(address)
        again = api.get(address, headers={"if-none-match": first["ETag"]})
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"]), address
        assert "Authorization" in again["Vary"]
        other = api.get(address, headers={"if-none-match": '"other"'})
        assert (other.status_code, other.content) == (200, first.content)


def test_changed_row_is_sent_with_a_new_etag(api, addresses):
    for address in addresses:
        first = api.get(address)
        api.patch(address, {"name": "new"}, content_type="application/json")
        again = api.get(address, headers={"if-none-match": first["ETag"]})
        assert (again.status_code, again.json()["name"]) == (200, "new")
        assert again["ETag"] != first["ETag"]


def test_a_change_of_what_was_read_is_made(api, addresses):
    for address in addresses:
        assert change(api, address, api.get(address)["ETag"], name="new").json()["name"] == "new"
        assert change(api, address, "*", name="newer").status_code == 200


def test_a_change_of_what_another_has_changed_is_refused(api, addresses):
    for address in addresses:
        read = api.get(address)["ETag"]
        assert change(api, address, read, name="theirs").status_code == 200
        refused = change(api, address, read, name="ours")
        assert (refused.status_code, refused["Content-Type"]) == (412, "application/problem+json")
        assert api.delete(address, headers={"if-match": read}).status_code == 412
        assert api.get(address).json()["name"] == "theirs"


def test_a_version_that_was_sent_compressed_is_the_same_version(api, addresses):
    address = addresses[1]
    squeezed = api.get(address, headers={"accept-encoding": "gzip"})
    assert squeezed["ETag"].startswith('W/"')
    assert api.get(address, headers={"if-none-match": squeezed["ETag"]}).status_code == 304
    assert change(api, address, squeezed["ETag"], name="new").status_code == 200


def test_etag_reveals_nothing_without_access(private_experiment, ada, bo):
    address = f"/api/v1/experiments/{private_experiment.pk}"
    etag = calls(ada).get(address)["ETag"]
    assert calls(bo).get(address, headers={"if-none-match": etag}).status_code == 404
    assert calls(bo).patch(address, {}, content_type="application/json", headers={"if-match": etag}).status_code == 404
    assert Client().get(address, headers={"if-none-match": "*"}).status_code == 401
    assert Experiment.objects.get().name == "Secret"
