"""What a run says to an esweb server over HTTP. Optional: its files are the truth, and are always written."""

from workers.client.push import pushing

__all__ = ["pushing"]
