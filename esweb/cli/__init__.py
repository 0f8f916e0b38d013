"""The command line: runs launched, watched and read over the REST API, from any machine that reaches the server.

Standard library only, and no Django: it runs where nothing but the base install is. `esweb.cli.__main__` starts it.
"""
