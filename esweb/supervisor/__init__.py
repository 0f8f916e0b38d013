"""Keeps one process tree: the bundled servers, and the parts of esweb that stand on them."""

from esweb.supervisor.process import Part
from esweb.supervisor.processes import collecting_static, parts_of_esweb, static_folder
from esweb.supervisor.tree import Stopped, Tree, stop_on_signals

__all__ = ["Part", "Stopped", "Tree", "collecting_static", "parts_of_esweb", "static_folder", "stop_on_signals"]
