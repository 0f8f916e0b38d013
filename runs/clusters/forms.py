"""Form of a cluster's config. The config's check finds the problems; the form adds each to its field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_origin

from django import forms
from django.utils.translation import gettext, gettext_lazy

from runs.clusters.commands import add_cluster, change_cluster
from runs.clusters.settings import EXAMPLES, KEYS, SITES
from runs.http import NoteField, TextField
from runs.models import Cluster
from workers.config import ConfigError
from workers.config.fields import hints, unwrap
from workers.config.shallow_json import loads

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

FIELDS: dict[str, tuple[str | StrPromise, str | StrPromise]] = {
    "address": (gettext_lazy("Address"), gettext_lazy(
        "ssh://user@host:port, or a host of this machine's ssh_config. Empty if this machine is part of the cluster.")),
    "key_file": (gettext_lazy("Key file"), gettext_lazy(
        "Path on this machine; the key itself is never stored. If empty, the key of the SSH agent or of ssh_config.")),
    "known_hosts": (gettext_lazy("Known hosts"), gettext_lazy("File with its host key. If empty, ~/.ssh/known_hosts.")),
    "folder": (gettext_lazy("Folder"), gettext_lazy("Where runs are stored there, on a disk that its nodes can read.")),
    "dashboard": (gettext_lazy("Dashboard"), gettext_lazy("Of a Ray cluster, such as http://10.0.0.5:8265.")),
    "token_file": (gettext_lazy("Token file"), gettext_lazy(
        "Path on this machine of the file with Ray's token; the token itself is never stored.")),
    "partition": (gettext_lazy("Partition"), gettext_lazy("Name other partitions for runs under More.")),
    "account": (gettext_lazy("Account"), ""),
    "qos": ("QOS", ""),
    "constraint": (gettext_lazy("Constraint"), gettext_lazy("A feature that nodes must have.")),
    "gpu_type": (gettext_lazy("GPU type"), gettext_lazy("Such as a100, for runs with GPUs.")),
    "python": (gettext_lazy("Python"), gettext_lazy("Interpreter on the nodes, with esweb's training packages.")),
    "project": (gettext_lazy("Code"), gettext_lazy(
        "Folder on the nodes with the package workers. If empty, esweb copies it there.")),
    "time_limit_seconds": (gettext_lazy("Time limit, seconds"), gettext_lazy(
        "For runs without a time limit of their own.")),
    "modules": (gettext_lazy("Modules"), gettext_lazy(
        "Environment modules, one per line, loaded first and in this order.")),
    "env": (gettext_lazy("Variables"), gettext_lazy(
        "One per line, such as HF_HOME=/shared/hf. No secrets: every user of a node can read them.")),
}  # fmt: skip
"""Keys with a field of their own -> label and help. The others are JSON in the field *More*."""
LINES = forms.Textarea(attrs={"rows": 3, "spellcheck": "false"})


class ListField(TextField):
    """Words on lines, as a list."""

    def prepare_value(self, value: Any) -> Any:
        """Return the lines of a list."""
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[str]:
        """Return the words."""
        return str(super().clean(value)).split()


class VariablesField(TextField):
    """NAME=value on lines, as an object."""

    def prepare_value(self, value: Any) -> Any:
        """Return the lines of an object."""
        return "\n".join(f"{name}={text}" for name, text in value.items()) if isinstance(value, dict) else value

    def clean(self, value: Any) -> dict[str, str]:
        """Return the values by name. Raise ValidationError for a line without =."""
        lines = [line.strip() for line in str(super().clean(value)).splitlines() if line.strip()]
        if wrong := [line for line in lines if "=" not in line]:
            raise forms.ValidationError(gettext("must be NAME=value, not %(line)r") % {"line": wrong[0]})
        return dict(line.split("=", 1) for line in lines)


def make_field(key: str) -> forms.Field:
    """Return the field of a key, by the key's type."""
    texts: dict[str, Any] = dict(zip(("label", "help_text"), FIELDS[key], strict=True))
    site: type = next(SITES[kind] for kind, keys in KEYS.items() if key in keys)
    bare, _, _ = unwrap(hints(site)[key])
    if bare is int:
        return forms.IntegerField(**texts, required=False, min_value=0)
    if bare is str:
        return forms.CharField(**texts, required=False, max_length=1000)
    field = {Mapping: VariablesField, tuple: ListField}[get_origin(bare) or bare]
    return field(**texts, required=False, widget=LINES)


class ClusterForm(forms.Form):
    """Form of a cluster. Name and kind of an existing cluster cannot change.

    It has the fields that the cluster's kind uses. The form of a new cluster has all, and the style sheet hides the
    fields that the selected kind does not use; their values are ignored.
    """

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=50,
        help_text=gettext_lazy("Runs name it in compute.cluster. It cannot be changed."),
    )
    kind = forms.ChoiceField(label=gettext_lazy("Kind"), choices=Cluster.KINDS, initial="slurm")
    more = NoteField(
        label=gettext_lazy("More"),
        required=False,
        widget=LINES,
        help_text=gettext_lazy('Other keys, as JSON: limits, partitions, waits, task_paths, data_paths, import_paths, '
                               'site_url, and what the kind needs, such as {"partitions": ["gpu", "cpu"]}.'),
    )  # fmt: skip
    order = ("name", "kind", *FIELDS, "more")

    def __init__(self, data: Mapping[str, Any] | None = None, cluster: Cluster | None = None) -> None:
        super().__init__(data, initial=initial_values(cluster.config, cluster.kind) if cluster else None)
        self.cluster = cluster
        for key in FIELDS:
            kinds = [kind for kind, keys in KEYS.items() if key in keys]
            if cluster is None or cluster.kind in kinds:
                self.fields[key] = make_field(key)
                self.fields[key].widget.attrs["data-kinds"] = " ".join(kinds)
        self.order_fields(self.order)
        if cluster is not None:
            del self.fields["name"], self.fields["kind"]
            self._describe_more(cluster.kind)

    def _describe_more(self, kind: str) -> None:
        """List the keys of this kind that have no field of their own."""
        params = {"keys": ", ".join(key for key in KEYS[kind] if key not in self.fields), "example": EXAMPLES[kind]}
        if self.fields.keys() & FIELDS.keys():
            self.fields["more"].help_text = gettext("Other keys, as JSON: %(keys)s.") % params
        else:
            self.fields["more"].label = gettext("Settings")
            self.fields["more"].help_text = gettext("As JSON, such as %(example)s. Keys: %(keys)s.") % params

    def clean(self) -> dict[str, Any]:
        """Ignore the fields that the kind does not use, also if their values are wrong."""
        self.used = KEYS.get(self.cluster.kind if self.cluster else self.cleaned_data.get("kind", ""), ())
        for key in self.errors.keys() & FIELDS.keys() - {*self.used}:
            del self.errors[key]
        return self.cleaned_data

    def save(self) -> Cluster | None:
        """Save and return the cluster. If it is invalid, return None and add the errors to the fields."""
        if not self.is_valid() or (config := self._config()) is None:
            return None
        try:
            if self.cluster is None:
                return add_cluster(self.cleaned_data["name"], self.cleaned_data["kind"], config)
            change_cluster(self.cluster, config)
            return self.cluster
        except ConfigError as error:
            for problem in error.problems:
                self.add_error(problem.path if problem.path in self.fields else "more", problem.message)
            return None

    def _config(self) -> dict[str, Any] | None:
        data = self.cleaned_data
        config = {key: data[key] for key in FIELDS if key in self.used and data[key]}
        text = self.cleaned_data["more"].strip()
        try:
            more = loads(text) if text else {}
        except ValueError as error:
            self.add_error("more", gettext("is not JSON: %(why)s") % {"why": error})
            return None
        if not isinstance(more, dict):
            self.add_error("more", gettext('must be an object such as {"limits": {"gpus": 4}}'))
            return None
        if twice := sorted(more.keys() & config.keys()):
            self.add_error("more", gettext("has its own fields above: %(keys)s") % {"keys": ", ".join(twice)})
            return None
        return config | more


def initial_values(config: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the config of a cluster of this kind as initial values of the form."""
    own = {key: value for key, value in config.items() if key in FIELDS and key in KEYS[kind]}
    more = {key: value for key, value in config.items() if key not in own}
    return {**own, "more": json.dumps(more, indent=2) if more else ""}
