"""What accompanies a run: records pushed to a server, looks at the machine. Optional: its files are the truth."""

from workers.client.push import pushing
from workers.client.sampling import sampling

__all__ = ["pushing", "sampling"]
