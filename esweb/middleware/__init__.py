"""Middleware that every request passes: ASGI applications in front of Django, and Django middleware."""
