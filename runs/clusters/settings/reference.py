"""Reference of the settings of clusters as Markdown, from their fields: ./manage.py cluster keys > docs/clusters.md"""

from __future__ import annotations

import dataclasses

from runs.clusters.settings.site import SITES, ClusterSite
from runs.models import Cluster
from workers.config.fields import help_lines

HEAD = """# Settings of a cluster

The config of a cluster is a JSON object with these keys. Unknown keys are rejected with a list of the known ones. No
shell reads the values. `make config-reference` generates this page from the code; `make check` fails if the two differ.
"""


def reference() -> str:
    """Return the whole page."""
    common = [field.name for field in dataclasses.fields(ClusterSite)]
    parts = [HEAD, _section("Every cluster", ClusterSite, common)]
    for kind, title in Cluster.KINDS:
        own = [field.name for field in dataclasses.fields(SITES[kind]) if field.name not in common]
        parts.append(_section(title, SITES[kind], own))
    return "".join(parts)


def _section(title: str, site: type, keys: list[str]) -> str:
    rows = [f"| `{key}` | {' '.join(help_lines(site)[key].split())} |\n" for key in keys]
    return f"\n## {title}\n\n| key | meaning |\n|---|---|\n{''.join(rows)}"
