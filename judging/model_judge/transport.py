"""HTTP transport to a judge's server: only checked addresses, no redirect, no proxy, no endless response."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import httpx2

from judging.model_judge.hosts import Host, addresses, find_allowed_host

MAX_BYTES = 1 << 20
"""The limit of a response: some two hundred times the size of a long one."""
CONNECT_SECONDS = 10.0


def http_client(url: str, allowed: Sequence[Host], seconds: float) -> httpx2.Client:
    """Return a client for the server at a URL, with a time limit for each whole response. Raise HostNotAllowed."""
    find_allowed_host(url, allowed)
    # Proxies of the environment would bypass the check of addresses.
    return httpx2.Client(
        transport=CheckedTransport(allowed, seconds), follow_redirects=False, trust_env=False,
        timeout=httpx2.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
    )  # fmt: skip


class CheckedTransport(httpx2.HTTPTransport):
    """Transport that looks a host up, checks the address, and connects to that very address: a name cannot change in
    between."""

    def __init__(self, allowed: Sequence[Host], seconds: float) -> None:
        super().__init__(trust_env=False)
        self.allowed, self.seconds = allowed, seconds

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request. Raise HostNotAllowed, and httpx2's errors."""
        until = time.monotonic() + self.seconds
        url, name = str(request.url), request.url.host
        port = request.url.port or (443 if urlsplit(url).scheme == "https" else 80)
        try:
            targets = addresses(find_allowed_host(url, self.allowed), port)
        except OSError as error:
            raise httpx2.ConnectError(f"{name} cannot be resolved: {error.strerror}", request=request) from error
        # The certificate is still checked against the name.
        request.extensions = {**request.extensions, "sni_hostname": name}
        request.url = request.url.copy_with(host=targets[0])
        response = super().handle_request(request)
        response.stream = BoundedStream(response.stream, until)
        return response


class BoundedStream(httpx2.SyncByteStream):
    """Response body of at most MAX_BYTES that ends in time, however slowly it arrives."""

    def __init__(self, stream: object, until: float) -> None:
        assert isinstance(stream, httpx2.SyncByteStream)  # noqa: S101  (for the type checker: the client is sync)
        self.stream, self.until = stream, until

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self.stream:
            size += len(part)
            if size > MAX_BYTES:
                raise httpx2.ReadError(f"The reply is larger than {MAX_BYTES >> 20} MiB.")
            if time.monotonic() > self.until:
                raise httpx2.ReadTimeout("The reply did not finish in time.")
            yield part

    def close(self) -> None:
        self.stream.close()
