"""Measure what the worst bodies cost the web server: CPU seconds and memory of a request, each to a new server process.

    python -m benchmarks.bodies

Bodies of 8 MiB, plain and as gzip, that are made to be slow or large: those of a client without a valid token, which
must not be read, and those of a run's own token, which must be cut off. The memory is the growth of the process's peak
(VmHWM) over its memory before the request; the CPU seconds are those of all its threads. A stranger's body is sent five
times, and the median of the seconds counts; a second push of the same records would not be the same work. The goals are
those of the worst body.
"""

from __future__ import annotations

import gzip
import http.client
import json
import os
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from benchmarks import results, servers

MIB = 1024 * 1024
LIMIT, LINE = 8 * MIB, 2 * MIB
STRANGER_SECONDS, STRANGER_MB, STRANGER_TIMES = 0.010, 2.0, 5
WRITER_SECONDS, WRITER_MB = 1.0, 64.0
LINES, COLUMNS = "application/jsonl", "application/json"


@dataclass(frozen=True)
class Body:
    """A body, and the way in which it is sent. `is_gzip`: compressed already."""

    name: str
    data: Callable[[], bytes]
    content_type: str = LINES
    is_gzip: bool = False


@dataclass(frozen=True)
class Cost:
    """CPU seconds, megabytes, and the status of the answer."""

    seconds: float
    megabytes: float
    status: int


def repeat_to_limit(piece: bytes) -> bytes:
    """Return as many pieces as fit into the limit."""
    return piece * (LIMIT // len(piece))


def lines_to_limit(line: Callable[[int], str]) -> bytes:
    """Return as many lines as fit into the limit."""
    out, size, seq = [], 0, 0
    while (size := size + len(text := line(seq)) + 1) <= LIMIT:
        out.append(text)
        seq += 1
    return "\n".join(out).encode()


def some_lines(count: int, line: Callable[[int], str]) -> bytes:
    """Return so many lines."""
    return "\n".join(line(seq) for seq in range(count)).encode()


def metric(seq: int, keys: int, first: int = 0) -> str:
    """Return a metric record of so many keys."""
    values = ",".join(f'"k{key}":{key}.5' for key in range(first, first + keys))
    return f'{{"seq":{seq},"t":1,"kind":"metric","step":{seq},"values":{{{values}}}}}'


def response(seq: int, text: str, prompt: str = "p") -> str:
    """Return a response record."""
    record = {"seq": seq, "t": 1, "kind": "response", "step": 0, "split": "eval", "prompt_id": prompt, "sample": 0}
    record |= {"text": text, "tokens": 1, "reward": 0, "prompt": prompt}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def columnar(keys: int, records: int) -> bytes:
    """Return so many keys in so many records, as columns."""
    column = f"[{','.join(['0.5'] * records)}]"
    values = ",".join(f'"k{key}":{column}' for key in range(keys))
    rows = f"[{','.join(['1'] * records)}]"
    return f'{{"seq":0,"t":{rows},"step":{rows},"values":{{{values}}}}}'.encode()


def bomb(size: int) -> bytes:
    """Return a gzip of so many newlines, compressed in pieces, since they do not fit into memory."""
    stream = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    piece = b"\n" * MIB
    return b"".join([*(stream.compress(piece) for _ in range(size // MIB)), stream.flush()])


BODIES = (
    Body("newlines", lambda: repeat_to_limit(b"\n")),
    Body("a gzip of newlines", lambda: gzip.compress(repeat_to_limit(b"\n")), is_gzip=True),
    Body("a gzip of 1 GiB", lambda: bomb(1024 * MIB), is_gzip=True),
    Body("many gzip members", lambda: repeat_to_limit(gzip.compress(b"", mtime=0)), is_gzip=True),
    Body("a thousand gzip members", lambda: gzip.compress(b"", mtime=0) * 999 + gzip.compress(b"x"), is_gzip=True),
    Body("empty deflate blocks", lambda: gzip.compress(b"")[:10] + b"\x00\x00\x00\xff\xff" * 1_600_000, is_gzip=True),
    Body("small objects", lambda: repeat_to_limit(b"{}\n")),
    Body("bad lines after good ones", lambda: some_lines(19_990, lambda seq: metric(seq, 5)) + b"\nx" * MIB),
    Body("deep nesting", lambda: b"[" * LIMIT),
    Body("deep nesting, columns", lambda: b"[" * LIMIT, COLUMNS),
    Body("lists in a line", lambda: b'{"seq":[' + b"[]," * (LIMIT // 3 - 10) + b"[]]}"),
    Body("lists in columns", lambda: b'{"seq":[' + b"[]," * (LIMIT // 3 - 10) + b"[]]}", COLUMNS),
    Body("as many lists as are parsed", lambda: b'{"seq":[' + b"[]," * 49_000 + b"[]]}"),
    Body("names in columns", lambda: b"{" + b",".join(b'"%x":[]' % n for n in range(700_000)) + b"}", COLUMNS),
    Body("one number", lambda: b'{"seq":' + b"9" * (LIMIT - 10) + b"}"),
    Body("one fraction", lambda: b'{"seq":0,"t":0.' + b"9" * (LIMIT - 20) + b"}"),
    Body("one string", lambda: b'{"seq":"' + b"x" * (LIMIT - 12) + b'"}'),
    Body("one escaped string", lambda: b'{"seq":"' + b"\\u0041" * (LIMIT // 6 - 12) + b'"}'),
    Body("one answer", lambda: response(0, "x" * (LIMIT - 200)).encode()),
    Body("the longest answer", lambda: response(0, "x" * (LINE - 200)).encode()),
    Body("the longest answer with an emoji", lambda: response(0, "x" * (LINE - 200) + "\U0001f600").encode()),
    Body("the longest answers", lambda: some_lines(4, lambda seq: response(seq, "x" * (LINE - 200)))),
    Body("long answers with emojis", lambda: some_lines(4, lambda seq: response(seq, "x" * 1_240_000 + "\U0001f600"))),
    Body("one key", lambda: b'{"seq":0,"t":1,"kind":"metric","step":0,"values":{"' + b"x" * (LIMIT - 99) + b'":1}}'),
    Body("the most lines, metrics", lambda: some_lines(18_000, lambda seq: metric(seq, 1))),
    Body("the most metrics of five keys", lambda: some_lines(12_400, lambda seq: metric(seq, 5))),
    Body("too many lines, metrics", lambda: lines_to_limit(lambda seq: metric(seq, 1))),
    Body("the most keys in records", lambda: some_lines(17, lambda seq: metric(seq, 9_990))),
    Body("too many keys in records", lambda: some_lines(60, lambda seq: metric(seq, 9_990))),
    Body("other keys in each record", lambda: some_lines(18, lambda seq: metric(seq, 9_990, seq * 9_990))),
    Body("the most answers", lambda: some_lines(1_980, lambda seq: response(seq, "x", f"p{seq}"))),
    Body("too many answers", lambda: some_lines(20_000, lambda seq: response(seq, "x", f"p{seq}"))),
    Body("the most alerts", lambda: some_lines(
        3_980, lambda seq: f'{{"seq":{seq},"t":1,"kind":"alert","level":"info","message":"x"}}')),
    Body("the most members", lambda: (
        '{"seq":0,"t":1,"kind":"population","step":0,"members":['
        + ",".join(['{"seed":1,"reward":0}'] * 33_000) + "]}").encode()),
    Body("the most values in columns", lambda: columnar(1, 160_000), COLUMNS),
    Body("the most columns", lambda: columnar(9_999, 45), COLUMNS),
)  # fmt: skip


def cost(site: servers.Site, body: Body, data: bytes, *, is_known: bool) -> Cost:
    """Send the body to a new server that has answered the same sender once, so that loading code is no body's cost."""
    writer, first = site.writer(), site.writer()
    with servers.web() as web:
        push(web, first, first.headers(LINES), metric(0, 1).encode())
        headers = writer.headers(body.content_type)
        if is_known:
            # A token that is known to the process, as a trainer's is after its first push.
            push(web, writer, headers | {"Content-Type": LINES}, b"")
        else:
            headers["Authorization"] = "Bearer esw_wrong"
            push(web, writer, headers, b"x")
        if body.is_gzip:
            headers["Content-Encoding"] = "gzip"
        process = Path(f"/proc/{web.process.pid}")
        (process / "clear_refs").write_text("5", encoding="ascii")
        memory, seconds = kilobytes(process, "VmRSS"), [cpu_seconds(web)]
        for _ in range(1 if is_known else STRANGER_TIMES):
            status = push(web, writer, headers, data)
            seconds.append(cpu_seconds(web))
        spent = median(after - before for before, after in pairwise(seconds))
        return Cost(spent, (kilobytes(process, "VmHWM") - memory) / 1024, status)


def push(web: servers.Web, writer: servers.Writer, headers: dict[str, str], data: bytes) -> int:
    """Send a body; return the status of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=120)
    try:
        connection.request("POST", writer.path, data, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def cpu_seconds(web: servers.Web) -> float:
    """Return the server's CPU seconds so far, to the nanosecond; /proc counts in hundredths of a second."""
    return time.clock_gettime((~web.process.pid << 3) | 2)


def kilobytes(process: Path, name: str) -> int:
    """Return a line of the process's status."""
    lines = (process / "status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


def report(sender: str, costs: dict[str, Cost], seconds: float, megabytes: float) -> None:
    """Print the cost of each body, and record the worst."""
    for name, body_cost in costs.items():
        print(f"  {sender}: {name}: {body_cost.status}, {body_cost.seconds:.3f} s, {body_cost.megabytes:.1f} MB")
    slowest = max(costs, key=lambda name: costs[name].seconds)
    largest = max(costs, key=lambda name: costs[name].megabytes)
    results.at_most(f"{sender}, CPU of the slowest ({slowest})", costs[slowest].seconds, seconds, "s")
    results.at_most(f"{sender}, memory of the largest ({largest})", costs[largest].megabytes, megabytes, "MB")


def main() -> int:
    """Measure, record, and return the exit code."""
    os.environ["ESWEB_STRANGERS_PER_MINUTE"] = "100000"
    selected = [body for body in BODIES if not sys.argv[1:] or body.name in sys.argv[1:]]
    strangers, writers = dict[str, Cost](), dict[str, Cost]()
    with servers.site() as site:
        for body in selected:
            data = body.data()
            strangers[body.name] = cost(site, body, data, is_known=False)
            writers[body.name] = cost(site, body, data, is_known=True)
            print(f"  {body.name}: {strangers[body.name]} {writers[body.name]}", flush=True)
    report("a wrong token", strangers, STRANGER_SECONDS, STRANGER_MB)
    report("a run's own token", writers, WRITER_SECONDS, WRITER_MB)
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
