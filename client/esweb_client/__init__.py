"""Report a training that runs anywhere to an esweb server.

run = esweb_client.init(project="conciseness", config={"lr": 1e-5})
run.log({"reward/mean": 0.4}, step=1)
run.finish()
"""

__version__ = "0.1.0"
