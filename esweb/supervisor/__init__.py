"""Keeps one process tree: the bundled servers, and the parts of esweb that stand on them."""

from esweb.supervisor.part import Part
from esweb.supervisor.parts import collecting_static, parts_of_esweb, static_folder
from esweb.supervisor.stopping import Stopped, stop_on_signals
from esweb.supervisor.tree import Tree

__all__ = ["Part", "Stopped", "Tree", "collecting_static", "parts_of_esweb", "static_folder", "stop_on_signals"]
