"""The callback for transformers' Trainer and TRL's trainers. Importing it makes `report_to="esweb"` work too.

trainer = GRPOTrainer(..., callbacks=[EswebCallback(project="conciseness")])
"""

from esweb_client.huggingface.callback import EswebCallback, register

register()

__all__ = ["EswebCallback"]
