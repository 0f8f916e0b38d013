"""Paths of this server that an admin may import: those inside a cluster's `import_paths`."""

from __future__ import annotations

from pathlib import Path

from django.utils.translation import gettext

from runs.clusters.settings import site_of
from runs.models import Cluster
from workers.config import ConfigError, Problem


def import_roots(cluster: Cluster) -> list[Path]:
    """Return the folders below which paths may be imported."""
    return [Path(root) for root in site_of(cluster).import_paths]


def resolve_path(cluster: Cluster, path: str) -> Path:
    """Return the real path of a file or folder inside one of the cluster's roots.

    Raise ConfigError at `path` otherwise. Whether a path outside the roots exists is not told.
    """
    roots = import_roots(cluster)
    if not roots:
        message = gettext("cannot be read: cluster %(cluster)s has no import_paths; an admin sets them in its config")
        raise ConfigError([Problem("path", message % {"cluster": cluster.name})])
    names = ", ".join(map(str, roots))
    if "\x00" in path or not Path(path).is_absolute() or not any(_is_inside(Path(path), root) for root in roots):
        raise ConfigError([Problem("path", gettext("must be inside one of %(roots)s") % {"roots": names})])
    try:
        real = Path(path).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError([Problem("path", gettext("cannot be read: %(reason)s") % {"reason": reason})]) from None
    # A link inside a root may lead out of it.
    if not any(_is_inside(real, root.resolve()) for root in roots):
        raise ConfigError([Problem("path", gettext("leads out of %(roots)s by a link") % {"roots": names})])
    return real


def _is_inside(path: Path, root: Path) -> bool:
    return ".." not in path.parts and path.is_relative_to(root)
