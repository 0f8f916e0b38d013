"""A bundle is the code as one file, `<fingerprint>.pyz`: copied to a machine without it, it unpacks itself.

    python <fingerprint>.pyz ROOT       # makes ROOT/<fingerprint> and prints it

It is a zip of the package, of the listing that the fingerprint digests, and of a `__main__.py` that calls `main` here,
on a machine that may have no other part of esweb. The same files and the same zlib give the same bytes.
"""

from __future__ import annotations

import secrets
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from workers.code.identity import PACKAGE, files, fingerprint, listing

SUFFIX = ".pyz"
LISTING = "SHA256SUMS"
MAIN = """\
import sys

from workers.code.bundle import main

sys.exit(main(sys.argv[1:]))
"""
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can hold. With the files' own times, equal files would give different bundles."""
READABLE = 0o100644 << 16


class BadBundle(OSError):
    """The content of a bundle does not match its name. The message gives a remedy."""


def bundle(root: Path, package: Path = PACKAGE) -> Path:
    """Return the bundle of the package as it is on disk now, in `root`; write it if it is missing.

    Raise OSError, and BadBundle if files changed while they were read.
    """
    path = bundle_path(root, fingerprint(package))
    if path.exists():
        return path
    root.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        _write(draft, package)
        if fingerprint(package) != path.stem:
            raise BadBundle("the code changed while it was bundled: try again")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def bundle_path(root: Path, sha256: str) -> Path:
    """Return the path of the bundle of this fingerprint in `root`."""
    return root / f"{sha256}{SUFFIX}"


def unpack(path: Path, root: Path) -> Path:
    """Return the folder under `root` with the bundle's package `workers`; unpack it if it is missing or damaged.

    Several processes may do this at the same time: the folder appears whole, or not at all. Raise OSError and its
    subclass BadBundle.
    """
    target = root / path.stem
    if _is_whole(target):
        return target
    root.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=root))
    damaged = draft.with_name(f"{draft.name}-damaged")
    try:
        _extract(path, draft)
        draft.chmod(0o755)
        if target.is_dir() and not _is_whole(target):
            target.rename(damaged)
        # This fails if another process has made the folder meanwhile; that one is as good.
        draft.rename(target)
    except BadBundle:
        raise
    except OSError:
        if not _is_whole(target):
            raise
    finally:
        for folder in (draft, damaged):
            shutil.rmtree(folder, ignore_errors=True)
    return target


def unpack_package(root: Path, package: Path = PACKAGE) -> Path:
    """Return a folder under `root` that holds this package and does not change. Raise OSError and BadBundle."""
    return unpack(bundle(root, package), root)


def command(python: str, bundle: str, root: str) -> list[str]:
    """Return the command that unpacks a bundle, on any machine, and prints the folder to put on PYTHONPATH."""
    # -I: no variable of the environment and no other folder of packages comes before the bundle.
    return [python, "-I", bundle, root]


def main(arguments: Sequence[str]) -> int:
    """Run the command line of a bundle. Return the exit code: 0, or 2 for bad arguments or a bad bundle."""
    if len(arguments) != 1:
        print(f"usage: python {sys.argv[0]} FOLDER", file=sys.stderr)
        return 2
    try:
        print(unpack(Path(sys.argv[0]).resolve(), Path(arguments[0]).resolve()))
    except BadBundle as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _is_whole(folder: Path) -> bool:
    return folder.is_dir() and fingerprint(folder / "workers") == folder.name


def _extract(path: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name == LISTING or name.startswith("workers/")]
            archive.extractall(folder, names)
    except (zipfile.BadZipFile, EOFError) as error:
        raise BadBundle(f"{path} is cut off or damaged: copy it again ({error})") from error
    if (actual := fingerprint(folder / "workers")) != path.stem:
        raise BadBundle(f"{path} contains the code {actual}, which does not match its name: copy it again")


def _write(path: Path, package: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in ((LISTING, listing(package)), ("__main__.py", MAIN)):
            archive.writestr(_entry(name), text)
        for name, file in files(package):
            archive.writestr(_entry(name), file.read_bytes())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, EARLIEST)
    entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, READABLE, 3
    return entry
