"""What administrators edit: clusters. Whoever may change one may name the folders whose code its runs execute."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError

from runs.launch.cluster_config import complaints
from runs.models import Cluster


class ClusterForm(forms.ModelForm):  # type: ignore[type-arg]
    """A cluster; every problem of its config at once."""

    class Meta:
        model = Cluster
        fields = ("name", "kind", "config")
        help_texts = {  # noqa: RUF012
            "config": "Of all kinds: waits, limits, site_url, data_paths (folders in which runs may name models and "
            "files), and task_paths: the folders in which tasks of users' own may lie. Who can write there can run "
            "code on the cluster. Of this machine: cores, gpus. Of Slurm: partition, account, qos, constraint, "
            "gpu_type, time_limit_seconds, modules, env, python, project, slurm_conf. Of Ray: dashboard, token_file, "
            "resources, start_seconds, env, python, project."
        }

    def clean_config(self) -> Any:
        """The config. An empty one is allowed: then defaults hold, and no folder is."""
        config = self.cleaned_data["config"] or {}
        if problems := list(complaints(config, self.cleaned_data.get("kind", "local"))):
            raise ValidationError(problems)
        return config


@admin.register(Cluster)
class ClusterAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Clusters by name. One that has attempts cannot be deleted."""

    form = ClusterForm
    list_display = ("name", "kind")
