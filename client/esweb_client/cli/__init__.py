"""The command line: runs launched, watched and read over the REST API, from any machine that reaches the server.

Standard library only. `esweb_client.cli.__main__` starts it.
"""
