"""The code that an attempt runs: its fingerprint, its origin, and a bundle of it. Stdlib only.

The fingerprint is the sha256 of a listing of all files of the package `workers`, as `sha256sum` prints it, so that it
can be computed from the files anywhere: here, on a node, or by hand.
"""

from workers.code.bundle import BadBundle, bundle, bundle_path, command, unpack, unpack_package
from workers.code.identity import PACKAGE, Code, code_of, fingerprint, listing

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
    "unpack_package",
]
