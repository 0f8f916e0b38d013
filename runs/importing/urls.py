"""URLs of imports."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from runs.http import PalettePage, register_pages
from runs.importing.server_folders.views import server_folder_list, server_folder_stop, server_folders
from runs.importing.views import import_files, import_undo

register_pages(PalettePage("import", _("Import runs")))

urlpatterns = [
    path("import/", import_files, name="import"),
    path("import/undo/", import_undo, name="import-undo"),
    path("import/folders/", server_folders, name="import-folders"),
    path("import/folders/list/", server_folder_list, name="import-folder-list"),
    path("import/folders/<int:pk>/stop/", server_folder_stop, name="import-folder-stop"),
]
