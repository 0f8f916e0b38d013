"""Admin pages of clusters. A user who may change a cluster may name the folders whose code its runs execute."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from runs.clusters.settings import KEYS, MAX_CONFIG_LENGTH, config_errors
from runs.http import JsonField
from runs.models import Cluster
from workers.config.shallow_json import TooDeep, check_depth


class ShallowDecoder(json.JSONDecoder):
    """A decoder for Django's JSONField, which expects no error but JSONDecodeError."""

    def decode(self, s: str, *args: Any) -> Any:
        """Raise JSONDecodeError also if the text is nested too deep."""
        try:
            value = super().decode(s, *args)
            check_depth(value)
        except (TooDeep, RecursionError):
            raise json.JSONDecodeError(str(TooDeep()), s, 0) from None
        return value


class ClusterForm(forms.ModelForm):  # type: ignore[type-arg]
    """Form of a cluster. It reports every problem of the config together."""

    config = JsonField(
        max_length=MAX_CONFIG_LENGTH,
        decoder=ShallowDecoder,
        required=False,
        error_messages={"invalid": f"Enter valid JSON; {TooDeep()}."},
        help_text="; ".join(f"{kind}: {', '.join(keys)}" for kind, keys in KEYS.items()) + ". "
        "task_paths: the folders in which users may store their own tasks. Anyone who can write there can run code on "
        "the cluster.",
    )

    class Meta:
        model = Cluster
        fields = ("name", "kind", "config")

    def clean_config(self) -> Any:
        """Return the config. An empty config is allowed: then defaults apply, and no folder is allowed."""
        config = self.cleaned_data["config"] or {}
        if problems := list(config_errors(config, self.cleaned_data.get("kind", "local"))):
            raise ValidationError(problems)
        return config


@admin.register(Cluster)
class ClusterAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Admin page of clusters, by name. A cluster that has attempts cannot be deleted."""

    form = ClusterForm
    list_display = ("name", "kind")

    def save_model(self, request: HttpRequest, obj: Cluster, form: Any, change: bool) -> None:
        """Save the cluster. If its kind or config changed, forget when it last replied, and its nodes."""
        if {"kind", "config"} & set(form.changed_data):
            obj.answered_at = obj.unreachable_since_at = obj.inventory_at = obj.inventory_tried_at = None
            obj.inventory = []
        super().save_model(request, obj, form, change)
