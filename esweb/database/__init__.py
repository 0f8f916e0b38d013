"""Django's PostgreSQL backend on a pool of our own: `ENGINE = "esweb.database"`."""
