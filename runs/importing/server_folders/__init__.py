"""Import folders of this server, once or while they grow: for admins, below folders that a cluster's config names."""

from runs.importing.server_folders.commands import NewServerFolder, add_server_folder, stop_server_folder
from runs.importing.server_folders.look import look_at, look_at_due_folders
from runs.importing.server_folders.paths import import_roots
from runs.importing.server_folders.survey import follow_paths

__all__ = [
    "NewServerFolder",
    "add_server_folder",
    "follow_paths",
    "import_roots",
    "look_at",
    "look_at_due_folders",
    "stop_server_folder",
]
