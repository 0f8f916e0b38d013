"""Clusters, for admins: listed, added, changed and tested."""
