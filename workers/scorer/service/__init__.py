"""The scorer as an HTTP service, with the routes and shapes of the published one."""
