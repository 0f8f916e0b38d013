"""Addresses of label sets."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from runs.http import PalettePage, register_pages, register_source
from runs.labels.reading_views import label_item, label_next
from runs.labels.views import (
    experiment_labels,
    label_file,
    label_set,
    label_set_archive,
    label_set_new,
    label_sets,
    labels_import,
    palette_entries,
)

register_pages(PalettePage("label-sets", _("Label responses")))
register_source(palette_entries)

urlpatterns = [
    path("labels/", label_sets, name="label-sets"),
    path("labels/<int:pk>/", label_set, name="label-set"),
    path("labels/<int:pk>/label/", label_next, name="label-next"),
    path("labels/<int:pk>/items/<int:item>/", label_item, name="label-item"),
    path("labels/<int:pk>/archive/", label_set_archive, name="label-set-archive"),
    path("labels/<int:pk>/file/", label_file, name="label-file"),
    path("experiments/<int:pk>/labels/", experiment_labels, name="experiment-labels"),
    path("experiments/<int:pk>/labels/new/", label_set_new, name="label-set-new"),
    path("experiments/<int:pk>/labels/import/", labels_import, name="labels-import"),
]
