"""The code as one file, to be shipped where it does not lie yet: `<fingerprint>.pyz`, which unpacks itself.

It is a zip of the package, of the listing that the fingerprint digests, and of a `__main__.py`. The same files make the
same bundle, byte for byte, with the same zlib.
"""

from __future__ import annotations

import secrets
import zipfile
from pathlib import Path

from workers.code.contents import PACKAGE, files, fingerprint, listing
from workers.code.unpacking import LISTING, BadBundle, unpack

SUFFIX = ".pyz"
MAIN = """\
import sys

from workers.code.unpacking import main

sys.exit(main(sys.argv[1:]))
"""
LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The oldest time that a zip can say; that of the files would make each bundle another one."""
READABLE = 0o100644 << 16


def bundle(root: Path, package: Path = PACKAGE) -> Path:
    """The bundle of the package as it lies on disk now, in `root`; made where it is not there yet.

    Raises OSError, and BadBundle where the files were changed while they were read.
    """
    path = bundle_path(root, fingerprint(package))
    if path.exists():
        return path
    root.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        _write(draft, package)
        if fingerprint(package) != path.stem:
            raise BadBundle("the code was changed while it was bundled: try again")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def bundle_path(root: Path, sha256: str) -> Path:
    """Where the bundle of this fingerprint lies, in `root`."""
    return root / f"{sha256}{SUFFIX}"


def unpacked(root: Path, package: Path = PACKAGE) -> Path:
    """The folder under `root` that holds this very package and stays as it is. Raises OSError and BadBundle."""
    return unpack(bundle(root, package), root)


def command(python: str, bundle: str, root: str) -> list[str]:
    """What unpacks a bundle on a machine that has nothing else of esweb; prints the folder to put on PYTHONPATH."""
    # -I: nothing of the environment, and no folder of packages of its own, comes before the bundle.
    return [python, "-I", bundle, root]


def _write(path: Path, package: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in ((LISTING, listing(package)), ("__main__.py", MAIN)):
            archive.writestr(_entry(name), text)
        for name, file in files(package):
            archive.writestr(_entry(name), file.read_bytes())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, LONG_AGO)
    entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, READABLE, 3
    return entry
