"""Folders of the server from which an admin imports runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from runs.models.experiment import Experiment
from runs.models.job import Cluster

MAX_REMARKS = 100


class ServerFolderQuerySet(models.QuerySet["ServerFolder"]):
    """Folders of the server, selected by the work that remains."""

    def active(self) -> Self:
        """Return the folders that will be read again."""
        return self.filter(next_look_at__isnull=False)

    def due(self) -> Self:
        """Return the folders that must be read now, by the database's clock."""
        return self.filter(next_look_at__lte=Now())


class ServerFolder(models.Model):
    """A folder, or a file, of this server that is imported once, or again each time it has grown.

    `path` is inside one of the cluster's `import_paths`. `next_look_at`: the time of the next look, None once nothing
    remains to read. `seen`: digest of the names, sizes and times of the files at the last look. `result`: what the last
    import returned, as the API returns it; `problem`: why it could not be read, or why looking at it ended.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    path = models.TextField()
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    experiment = models.ForeignKey(Experiment, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    experiment_name = models.CharField(max_length=200)
    follows = models.BooleanField(default=False)
    added_at = models.DateTimeField(auto_now_add=True)
    looked_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField(null=True, blank=True)
    next_look_at = models.DateTimeField(null=True, blank=True, db_default=Now())
    seen = models.CharField(max_length=64, blank=True)
    result = models.JSONField(null=True, blank=True)
    problem = models.TextField(blank=True)

    objects = ServerFolderQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["path", "person", "experiment_name"],
                condition=models.Q(next_look_at__isnull=False),
                name="server_folder_active_once",
            ),
        )
        indexes = (
            models.Index(
                fields=["next_look_at"], condition=models.Q(next_look_at__isnull=False), name="server_folder_due"
            ),
        )

    def __str__(self) -> str:
        return self.path

    @property
    def state(self) -> str:
        """Return waiting (not read yet), following, done, or failed."""
        if self.next_look_at is not None:
            return "waiting" if self.looked_at is None else "following"
        return "failed" if self.problem else "done"

    @property
    def remarks(self) -> list[str]:
        """Return what the last import did not read, each part with its file and the reason; at most MAX_REMARKS."""
        result = self.result or {}
        refused = [f"{file['name']}: {file['why']}" for file in result.get("not_read", [])]
        parts = [
            f"{file['name']}, {remark['place']}: {remark['why']}".replace(", : ", ": ")
            for file in result.get("files", [])
            for remark in file["not_understood"]
        ]
        return [*refused, *parts][:MAX_REMARKS]

    def ends_after(self, unchanged: timedelta) -> bool:
        """Return whether nothing in the folder has changed for this long."""
        if self.looked_at is None or self.changed_at is None:
            return False
        return self.looked_at - self.changed_at >= unchanged
