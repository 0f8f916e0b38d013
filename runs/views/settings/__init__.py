"""Settings: one's own password and tokens, and, for admins, the people."""
