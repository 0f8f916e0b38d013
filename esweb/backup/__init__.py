"""Backup of a whole site into one archive, and restore of it into an empty one."""

from esweb.backup.archive import BackupError
from esweb.backup.create import create_backup
from esweb.backup.restore import restore_backup

__all__ = ["BackupError", "create_backup", "restore_backup"]
