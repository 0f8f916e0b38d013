"""Unpacks a bundle, once: `python <fingerprint>.pyz ROOT` makes ROOT/<fingerprint> and prints it.

This runs from inside the bundle, on a machine that may have nothing else of esweb. Several may do it at the same time;
the folder appears whole, or not at all.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from workers.code.contents import fingerprint

LISTING = "SHA256SUMS"


class BadBundle(OSError):
    """A bundle that does not hold what its name says. The message says what to do."""


def unpack(bundle: Path, root: Path) -> Path:
    """The folder that holds the bundle's package `workers`, whole: one of which something was lost is made anew.

    Raises OSError, of which BadBundle is one.
    """
    target = root / bundle.stem
    if _is_whole(target):
        return target
    root.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=root))
    try:
        _fill(draft, bundle)
        draft.chmod(0o755)
        if target.is_dir() and not _is_whole(target):
            target.rename(draft.with_name(f"{draft.name}-damaged"))
        # Onto a folder that another one has made meanwhile this fails, and theirs is as good.
        draft.rename(target)
    except BadBundle:
        raise
    except OSError:
        if not _is_whole(target):
            raise
    finally:
        for left in (draft, draft.with_name(f"{draft.name}-damaged")):
            shutil.rmtree(left, ignore_errors=True)
    return target


def _is_whole(folder: Path) -> bool:
    return folder.is_dir() and fingerprint(folder / "workers") == folder.name


def _fill(folder: Path, bundle: Path) -> None:
    try:
        with zipfile.ZipFile(bundle) as archive:
            wanted = [name for name in archive.namelist() if name == LISTING or name.startswith("workers/")]
            archive.extractall(folder, wanted)
    except (zipfile.BadZipFile, EOFError) as error:
        raise BadBundle(f"{bundle} is cut off or damaged: copy it again ({error})") from error
    if (found := fingerprint(folder / "workers")) != bundle.stem:
        raise BadBundle(f"{bundle} holds the code {found}, not what its name says: copy it again")


def main(words: Sequence[str]) -> int:
    """The command line of a bundle. Returns the exit code: 0, or 2 where it holds not what it should."""
    if len(words) != 1:
        print(f"usage: python {sys.argv[0]} FOLDER", file=sys.stderr)
        return 2
    try:
        print(unpack(Path(sys.argv[0]).resolve(), Path(words[0]).resolve()))
    except BadBundle as error:
        print(error, file=sys.stderr)
        return 2
    return 0
