"""The micro model's tokenizer in the variants of other models: with and without a chat template, and BOS."""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

BOS, END, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
LLAMA = (
    "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}{{ '[INST] ' + m['content'] + ' [/INST]' }}"
    "{% elif m['role'] == 'assistant' %}{{ ' ' + m['content'] + eos_token }}"
    "{% else %}{{ raise_exception('only user and assistant are supported') }}{% endif %}{% endfor %}"
)
"""A template that writes BOS itself, takes no system message and has no generation prompt."""
KINDS = ("ChatML, no BOS", "no template, BOS", "no template, no BOS", "template that writes BOS")


def tokenizer_of(micro: Any, kind: str) -> Any:
    """Return a tokenizer of one of KINDS, with the ids of the micro model's."""
    backend = Tokenizer.from_str(micro.backend_tokenizer.to_str())
    has_bos = kind in ("no template, BOS", "template that writes BOS")
    if has_bos:
        special = [(BOS, micro.convert_tokens_to_ids(BOS))]
        backend.post_processor = TemplateProcessing(single=f"{BOS} $A", special_tokens=special)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=PAD,
        eos_token=END,
        bos_token=BOS if has_bos else None,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = {KINDS[0]: micro.chat_template, KINDS[3]: LLAMA}.get(kind)
    return tokenizer
