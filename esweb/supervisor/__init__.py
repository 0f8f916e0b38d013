"""Manage one process tree: the bundled servers, and the parts of esweb that need them."""

from esweb.supervisor.process import Part
from esweb.supervisor.processes import collectstatic_part, parts_of_esweb, static_folder
from esweb.supervisor.tree import StopRequested, Tree, stop_on_signals

__all__ = ["Part", "StopRequested", "Tree", "collectstatic_part", "parts_of_esweb", "static_folder", "stop_on_signals"]
