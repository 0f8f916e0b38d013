"""A data folder in which esweb has been started before: its database is migrated and the files of pages are collected.

A first start takes half a minute of a core. The tests of `up` wait for one; others begin where it ended.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from esweb.bootstrap.collectstatic import StaticCollection
from esweb.supervisor import collectstatic_part, static_folder
from tests import migrated_database


def make_started_site(data: Path) -> Path:
    """Create that folder."""
    cache = Path(os.environ["ESWEB_CACHE"])
    migrated_database.copy_to(data, cache)
    with migrated_database.lock_cache(cache):
        shutil.copytree(collect_static(cache), static_folder(data))
    return data


def collect_static(cache: Path) -> Path:
    """Return a folder with the collected and compressed static files. Create it if the cache has none of this state."""
    with tempfile.TemporaryDirectory(dir=cache, prefix="making-") as folder:
        data = Path(folder)
        collection = StaticCollection(
            static_folder(data), collectstatic_part(data, migrated_database.ROOT / "manage.py")
        )
        folder_in_cache = cache / f"collected-{collection.fingerprint[:16]}"
        if not folder_in_cache.exists():
            for outdated in cache.glob("collected-*"):
                shutil.rmtree(outdated)
            collection.start()
            collection.finish()
            static_folder(data).rename(folder_in_cache)
    return folder_in_cache
