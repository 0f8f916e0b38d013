"""Ask the web of this machine whether it is well, for health checks: `python -m esweb.bootstrap.healthcheck PORT`."""

from __future__ import annotations

import http.client
import sys

SECONDS = 4.0


def ask(port: int) -> str:
    """Return why the web at this port is not well; empty if it is."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", "/healthz", headers={"Host": "localhost"})
        answer = connection.getresponse()
        said = answer.read(500).decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return f"no answer: {error}"
    finally:
        connection.close()
    return "" if answer.status == 200 else f"{answer.status} {said}"


if __name__ == "__main__":
    sys.exit(ask(int(sys.argv[1])) or 0)
