"""Asks the web of this machine whether it is well, for health checks: `python -m esweb.ask_health PORT`."""

from __future__ import annotations

import http.client
import sys

SECONDS = 4.0


def ask(port: int) -> str:
    """Empty where it is well, else why not."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", "/healthz", headers={"Host": "localhost"})
        answer = connection.getresponse()
        said = answer.read(500).decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return f"no answer: {error}"
    finally:
        connection.close()
    # A site that only outsiders may call by its name answers 400, one behind HTTPS 301: it is up all the same.
    return f"{answer.status} {said}" if answer.status >= 500 else ""


if __name__ == "__main__":
    sys.exit(ask(int(sys.argv[1])) or 0)
