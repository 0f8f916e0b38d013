"""Check the health of this machine's web server: `python -m esweb.bootstrap.healthcheck PORT`."""

from __future__ import annotations

import http.client
import sys

SECONDS = 4.0


def ask(port: int) -> str:
    """Return why the web at this port is not well; empty if it is."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", "/healthz", headers={"Host": "localhost"})
        response = connection.getresponse()
        text = response.read(500).decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return f"no answer: {error}"
    finally:
        connection.close()
    return "" if response.status == 200 else f"{response.status} {text}"


if __name__ == "__main__":
    sys.exit(ask(int(sys.argv[1])) or 0)
