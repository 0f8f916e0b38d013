"""The config of a cluster: a dataclass for each kind, from which its form, checks and documentation are made."""

from runs.clusters.settings.check import MAX_CONFIG_LENGTH, config_errors
from runs.clusters.settings.site import (
    EXAMPLES,
    KEYS,
    SITES,
    ClusterSite,
    LocalSite,
    RaySite,
    SlurmSite,
    is_text_key,
    site_of,
)
from runs.clusters.settings.timeouts import TIMEOUTS_BY_KIND, Timeouts

__all__ = [
    "EXAMPLES",
    "KEYS",
    "MAX_CONFIG_LENGTH",
    "SITES",
    "TIMEOUTS_BY_KIND",
    "ClusterSite",
    "LocalSite",
    "RaySite",
    "SlurmSite",
    "Timeouts",
    "config_errors",
    "is_text_key",
    "site_of",
]
