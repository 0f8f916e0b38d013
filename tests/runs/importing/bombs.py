"""Files that are small and unpack to much, or claim what is not so."""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import lzma
import random
import struct
import tarfile
import zipfile
from collections.abc import Callable

MB = 1024 * 1024
BOMB_MB = 12
LINES, ZEROS, ONE_LINE = b"x\n" * (MB // 2), b"\0" * MB, b"x" * MB
NOISE = random.Random(7).randbytes(MB // 2).hex().replace("00", "0\n").encode()
"""A MiB of lines that no compressor packs to less than a third."""
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, 1),
    "bz2": lambda data: bz2.compress(data, 1),
    "xz": lambda data: lzma.compress(data, preset=0),
}


def packed(kind: str, mib: bytes, *, head: bytes = b"", tail: bytes = b"") -> bytes:
    """Return head, BOMB_MB times this MiB, and tail as streams one behind the other, which unpack as one."""
    pack = PACKERS[kind]
    return (pack(head) if head else b"") + pack(mib) * BOMB_MB + (pack(tail) if tail else b"")


def tar_head(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """Return the header of a member."""
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(tarfile.GNU_FORMAT)


def zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of these."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    """Return a tar of these."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def overlapping() -> bytes:
    """Return a zip in which eleven members have the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m", LINES * 8)
        for number in range(10):
            twin = copy.copy(archive.infolist()[0])
            twin.filename = f"m{number}"
            archive.filelist.append(twin)
    return out.getvalue()


def zip_with_false_size(size: int) -> bytes:
    """Return a zip whose member claims this size and has 4 MiB."""
    data = bytearray(zipped({"a.log": LINES * 4}))
    struct.pack_into("<I", data, 22, size)
    struct.pack_into("<I", data, data.rindex(b"PK\x01\x02") + 24, size)
    return bytes(data)


def sparse() -> bytes:
    """Return a tar whose member is a hole of 64 GiB."""
    header = bytearray(tar_head("hole.log", 0, tarfile.GNUTYPE_SPARSE))
    header[386:410] = b"00000000000\x00" + b"00000000000\x00"
    header[483:495] = b"\x80" + (64 * 1024 * MB).to_bytes(11, "big")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\x00 " % sum(header)
    return gzip.compress(bytes(header) + b"\0" * 1024)


def all_bombs() -> dict[str, bytes]:
    """Return every kind by name."""
    end = b"\0" * 1024
    size = BOMB_MB * MB
    out = {f"lines.log.{kind}": packed(kind, LINES) for kind in PACKERS}
    out |= {f"zeros.log.{kind}": packed(kind, ZEROS) for kind in PACKERS}
    out |= {f"one-line.log.{kind}": packed(kind, ONE_LINE) for kind in PACKERS}
    out |= {f"a.tar.{kind}": packed(kind, LINES, head=tar_head("a.log", size), tail=end) for kind in PACKERS}
    out |= {f"unread.tar.{kind}": packed(kind, b"\1\0" * (MB // 2), head=tar_head("a.bin", size)) for kind in PACKERS}
    out["attributes.tar.gz"] = packed("gz", LINES, head=tar_head("x", size, tarfile.XHDTYPE))
    out["long-name.tar.gz"] = packed("gz", LINES, head=tar_head("x", size, tarfile.GNUTYPE_LONGNAME))
    out["sparse.tar.gz"] = sparse()
    out["deflated.zip"] = zipped({"a.log": LINES * BOMB_MB})
    out["bzip2.zip"] = zipped({"a.log": ZEROS * BOMB_MB}, zipfile.ZIP_BZIP2)
    out["lzma.zip"] = zipped({"a.log": LINES * 8}, zipfile.ZIP_LZMA)
    out["overlapping.zip"] = overlapping()
    out["less.zip"], out["more.zip"] = zip_with_false_size(10), zip_with_false_size(2**31)
    many = {f"{number}.log": b"x\n" for number in range(2000)}
    out["many.zip"], out["many.tar.gz"] = zipped(many), tarred(many)
    out["folders.tar.gz"] = gzip.compress(b"".join(tar_head(f"{n}/", 0, tarfile.DIRTYPE) for n in range(2000)) + end)
    out["nested.zip"] = zipped({"a.log.gz": packed("gz", LINES), "b.zip": out["deflated.zip"]})
    out["nested.gz.xz"] = lzma.compress(packed("gz", LINES))
    return out
