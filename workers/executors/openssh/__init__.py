"""Another machine, reached by the OpenSSH client over one persistent connection: its commands and its jobs' files."""

from workers.executors.openssh.address import Access, Address, BadAddress
from workers.executors.openssh.remote_disk import RemoteDisk
from workers.executors.openssh.shell import OpenSsh

__all__ = ["Access", "Address", "BadAddress", "OpenSsh", "RemoteDisk"]
