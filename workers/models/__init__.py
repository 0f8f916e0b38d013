"""Base models: the tiny ones that the project makes itself, and any Hugging Face checkpoint; loading and saving them.

python -m workers.models.tiny --out DIR     makes the tiny model into a folder of your choice
"""

from workers.models.chat import PromptFormat, chat_text
from workers.models.gpu_limit import exceeded_reason, limit_gpu_memory
from workers.models.load import Loaded, load
from workers.models.memory import keep_freed_memory
from workers.models.resolve import ModelMissing, resolve
from workers.models.save import save

__all__ = [
    "Loaded",
    "ModelMissing",
    "PromptFormat",
    "chat_text",
    "exceeded_reason",
    "keep_freed_memory",
    "limit_gpu_memory",
    "load",
    "resolve",
    "save",
]
