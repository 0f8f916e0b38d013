"""API of folders of this server: admins import them, follow them and stop following them."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePath
from typing import Annotated, Any, Literal

from django.http import Http404
from ninja import Schema
from ninja.errors import HttpError
from pydantic import Field

from runs.access import may_manage_clusters
from runs.http import ApiRequest, Input, Name, Output, RowId, RowText, Username, needs, router
from runs.importing.schemas import ImportedOut
from runs.importing.server_folders.commands import NewServerFolder, add_server_folder, stop_server_folder
from runs.models import Experiment, ServerFolder

MAX_FOLDERS = 200
EXAMPLE: dict[str, Any] = {"cluster": "local", "path": "/srv", "experiment_name": "Concise"}


class NewFolder(Input):
    """A folder, or a file, of the server. `path` must be inside one of the `import_paths` of the cluster's config.

    Its runs join your experiment of this name; without one, of the folder's name. With `follow`, the folder is read
    again each time it has grown, until every attempt in it has ended, or nothing has changed for two days.
    """

    cluster: Name
    path: Annotated[str, Field(min_length=1, max_length=4096)]
    experiment_name: Name | None = None
    follow: bool = True


class FolderOut(Output):
    """A folder of the server that is imported. `state`: waiting (not read yet), following, done or failed.

    `looked_at`: its last look; `changed_at`: the last look that saw a change. `result` is that of the last import, null
    before it; `problem` states why it was read no more, else it is empty.
    """

    id: int
    cluster: RowText
    path: str
    experiment: int | None = Field(validation_alias="experiment_id")
    experiment_name: str
    follow: bool = Field(validation_alias="follows")
    state: Literal["waiting", "following", "done", "failed"]
    person: Username
    added_at: datetime
    looked_at: datetime | None
    changed_at: datetime | None
    result: ImportedOut | None
    problem: str


class FoldersOut(Schema):
    """List of folders, the newest first."""

    items: list[FolderOut]


@router.post(
    "/imports/folders",
    response={200: FolderOut, 202: FolderOut},
    auth=needs("admin"),
    tags=["experiments"],
    summary="Import a folder of the server",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
def import_folder(request: ApiRequest, new: NewFolder) -> tuple[int, FolderOut]:
    """Queue the import of a folder of this server. Read its result with GET. 200 if it is being read already, so the
    call is safe to repeat. Needs scope admin, of an admin.
    """
    _check_admin(request)
    name = new.experiment_name or PurePath(new.path).name[:200] or "Imported"
    experiments = Experiment.objects.filter(owner=request.auth.person, name=name, deleted_at__isnull=True)
    folder, is_new = add_server_folder(
        NewServerFolder(new.cluster, new.path, name, experiments.order_by("pk").first(), new.follow),
        request.auth.person,
    )
    return 202 if is_new else 200, FolderOut.from_row(_get_folder(folder.pk))


@router.get(
    "/imports/folders",
    response=FoldersOut,
    auth=needs("admin"),
    tags=["experiments"],
    summary="List imported folders of the server",
)
def list_folders(request: ApiRequest) -> FoldersOut:
    """Return the folders of this server that were imported or are followed: at most 200, the newest first. Needs scope
    admin, of an admin."""
    _check_admin(request)
    rows = ServerFolder.objects.select_related("cluster", "person").order_by("-pk")[:MAX_FOLDERS]
    return FoldersOut(items=[FolderOut.from_row(row) for row in rows])


@router.get(
    "/imports/folders/{pk}",
    response=FolderOut,
    auth=needs("admin"),
    tags=["experiments"],
    summary="Read an imported folder of the server",
)
def read_folder(request: ApiRequest, pk: RowId) -> FolderOut:
    """Return one folder with the result of its last import. Needs scope admin, of an admin."""
    _check_admin(request)
    return FolderOut.from_row(_get_folder(pk))


@router.delete(
    "/imports/folders/{pk}",
    response={204: None},
    auth=needs("admin"),
    tags=["experiments"],
    summary="Stop following a folder of the server",
)
def stop_folder(request: ApiRequest, pk: RowId) -> tuple[int, None]:
    """Read the folder no more. Its runs stay; to undo the import, delete them. Needs scope admin, of an admin."""
    _check_admin(request)
    stop_server_folder(_get_folder(pk))
    return 204, None


def _get_folder(pk: int) -> ServerFolder:
    """Return the folder with this id. Raise Http404 if there is none."""
    folder = ServerFolder.objects.select_related("cluster", "person").filter(pk=pk).first()
    if folder is None:
        raise Http404("There is no such folder")
    return folder


def _check_admin(request: ApiRequest) -> None:
    """Raise HttpError (403) unless an admin calls."""
    if not may_manage_clusters(request.auth.person):
        raise HttpError(403, "Only admins may import folders of the server")
