"""A data folder in which esweb has been started before: its database is migrated and the files of pages are collected.

A first start takes half a minute of a core. The tests of `up` wait for one; others begin where it ended.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from esweb.bootstrap.collectstatic import Collecting
from esweb.supervisor import collecting_static, static_folder
from tests import migrated_database


def lived_in(data: Path) -> Path:
    """Makes that folder."""
    cache = Path(os.environ["ESWEB_CACHE"])
    migrated_database.put_into(data, cache)
    with migrated_database.alone(cache):
        shutil.copytree(_collected(cache), static_folder(data))
    return data


def _collected(cache: Path) -> Path:
    """The files of pages, gathered and compressed. Makes them where the cache has none, or others."""
    with tempfile.TemporaryDirectory(dir=cache, prefix="making-") as folder:
        data = Path(folder)
        collecting = Collecting(static_folder(data), collecting_static(data, migrated_database.ROOT / "manage.py"))
        made = cache / f"collected-{collecting.fingerprint[:16]}"
        if not made.exists():
            for outdated in cache.glob("collected-*"):
                shutil.rmtree(outdated)
            collecting.start()
            collecting.finish()
            static_folder(data).rename(made)
    return made
