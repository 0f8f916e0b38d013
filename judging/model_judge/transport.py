"""The way to a judge's server: only to addresses that were looked at, no redirect, no proxy, no endless answer."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import httpx2

from judging.model_judge.hosts import Host, addresses, permitted

LARGEST_BYTES = 1 << 20
"""Of an answer: some two hundred times a long one."""
CONNECT_SECONDS = 10.0


def http_client(url: str, allowed: Sequence[Host], seconds: float) -> httpx2.Client:
    """A client for the server at a URL, with so much time for each whole answer. Raises NotAllowed."""
    permitted(url, allowed)
    # What the environment says of proxies would lead past the look at addresses.
    return httpx2.Client(
        transport=Looked(allowed, seconds), follow_redirects=False, trust_env=False,
        timeout=httpx2.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
    )  # fmt: skip


class Looked(httpx2.HTTPTransport):
    """Looks a host up, and connects to the very address that it has looked at: a name cannot change in between."""

    def __init__(self, allowed: Sequence[Host], seconds: float) -> None:
        super().__init__(trust_env=False)
        self.allowed, self.seconds = allowed, seconds

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises NotAllowed, and httpx2's errors."""
        until = time.monotonic() + self.seconds
        url, name = str(request.url), request.url.host
        port = request.url.port or (443 if urlsplit(url).scheme == "https" else 80)
        try:
            found = addresses(permitted(url, self.allowed), port)
        except OSError as error:
            raise httpx2.ConnectError(f"{name} is not known: {error.strerror}", request=request) from error
        # The certificate is still checked against the name.
        request.extensions = {**request.extensions, "sni_hostname": name}
        request.url = request.url.copy_with(host=found[0])
        response = super().handle_request(request)
        response.stream = Bounded(response.stream, until)
        return response


class Bounded(httpx2.SyncByteStream):
    """An answer of at most LARGEST_BYTES that ends in time, however slowly it drips."""

    def __init__(self, stream: object, until: float) -> None:
        assert isinstance(stream, httpx2.SyncByteStream)  # noqa: S101  (told to the type checker: the client is sync)
        self.stream, self.until = stream, until

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self.stream:
            size += len(part)
            if size > LARGEST_BYTES:
                raise httpx2.ReadError(f"The answer is larger than {LARGEST_BYTES >> 20} MiB.")
            if time.monotonic() > self.until:
                raise httpx2.ReadTimeout("The answer did not end in time.")
            yield part

    def close(self) -> None:
        self.stream.close()
