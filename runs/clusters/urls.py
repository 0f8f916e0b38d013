"""URLs of the settings of clusters."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from runs.clusters.connection_test.views import cluster_test, cluster_test_steps
from runs.clusters.views import cluster_edit, cluster_new, clusters
from runs.http import PalettePage, register_pages

register_pages(PalettePage("settings-clusters", _("Settings: clusters"), is_for_admins=True))

urlpatterns = [
    path("settings/clusters/", clusters, name="settings-clusters"),
    path("settings/clusters/new/", cluster_new, name="settings-cluster-new"),
    path("settings/clusters/of/<slug:name>/", cluster_edit, name="settings-cluster"),
    path("settings/clusters/of/<slug:name>/test/", cluster_test, name="settings-cluster-test"),
    path("settings/clusters/of/<slug:name>/test/steps/", cluster_test_steps, name="settings-cluster-test-steps"),
]
