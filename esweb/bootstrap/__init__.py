"""The first start: secret key, migrations, static files; and health."""
