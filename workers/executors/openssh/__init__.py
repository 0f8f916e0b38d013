"""Another machine, reached by the OpenSSH client over one kept connection: its commands, and the files of its jobs."""

from workers.executors.openssh.address import Access, Address, BadAddress
from workers.executors.openssh.disk import FarDisk
from workers.executors.openssh.shell import OpenSsh

__all__ = ["Access", "Address", "BadAddress", "FarDisk", "OpenSsh"]
