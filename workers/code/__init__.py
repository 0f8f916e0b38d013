"""Which code an attempt runs: its fingerprint, where it comes from, and a bundle of it. Stdlib only.

The fingerprint is the sha256 of a listing as `sha256sum` prints it, of every file of the package `workers`: whoever has
the files can find it again, here, on a node, or by hand.
"""

from workers.code.bundle import bundle, bundle_path, command, unpacked
from workers.code.contents import PACKAGE, fingerprint, listing
from workers.code.origin import Code, code_of
from workers.code.unpacking import BadBundle, unpack

__all__ = [
    "PACKAGE",
    "BadBundle",
    "Code",
    "bundle",
    "bundle_path",
    "code_of",
    "command",
    "fingerprint",
    "listing",
    "unpack",
    "unpacked",
]
