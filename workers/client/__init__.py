"""What accompanies a run: what its machine is and does, and records pushed to a server. Its files are the truth."""

from workers.client.machine import environment
from workers.client.push import pushing
from workers.client.sampling import sampling

__all__ = ["environment", "pushing", "sampling"]
