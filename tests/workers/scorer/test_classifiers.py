"""Any sequence-classification checkpoint is a score model: a single output is the score, else a label's log-odds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForSequenceClassification

from tests.workers.scorer.tiny_published_models import SIZES, tokenizer
from workers.scorer.conversation import conversation, messages
from workers.scorer.models import BadModel, ModelOptions, load

TEXTS = [conversation("How do I bake bread?", "With flour."), conversation("Hi", "")]
TEMPLATE = "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}</s>{% endfor %}"


def save_classifier(kind: Any, config: Any, folder: Path, **changes: Any) -> Any:
    """Save a classifier with random weights and return it."""
    torch.manual_seed(0)
    model = kind(config).eval().requires_grad_(False)
    model.save_pretrained(folder)
    words = tokenizer()
    for name, value in changes.items():
        setattr(words, name, value)
    words.save_pretrained(folder)
    return model


def llama(folder: Path, **changes: Any) -> Any:
    return save_classifier(
        LlamaForSequenceClassification, LlamaConfig(**SIZES, num_labels=1, pad_token_id=3), folder, **changes
    )


def score_model(folder: Path, **more: Any) -> ModelOptions:
    return ModelOptions("cost", str(folder), device="cpu", **more)


@pytest.mark.parametrize("pad_token", ["<pad>", "</s>", None])
def test_single_output_is_the_score_with_any_padding(tmp_path: Path, pad_token: str | None) -> None:
    model = llama(tmp_path, pad_token=pad_token)
    rows = [torch.tensor([tokenizer()(text + "</s>")["input_ids"]]) for text in TEXTS]
    plain = [float(model(row, attention_mask=torch.ones_like(row)).logits) for row in rows]
    assert load(score_model(tmp_path)).scores(TEXTS).values == pytest.approx(plain, abs=1e-4)


def test_conversation_is_formatted_with_chat_template(tmp_path: Path) -> None:
    model = llama(tmp_path, chat_template=TEMPLATE)
    seen = "<s>user: How do I bake bread?</s><s>assistant: With flour.</s>"
    row = torch.tensor([tokenizer()(seen, add_special_tokens=False)["input_ids"]])
    assert load(score_model(tmp_path)).scores(TEXTS[:1]).values == pytest.approx([float(model(row).logits)], abs=1e-4)


def test_score_is_log_odds_of_named_label(tmp_path: Path) -> None:
    sizes = {key: SIZES[key] for key in ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers")}
    labels = {0: "kind", 1: "toxic", 2: "dull"}
    config = BertConfig(**sizes, num_attention_heads=4, max_position_embeddings=64, id2label=labels)
    model = save_classifier(BertForSequenceClassification, config, tmp_path)
    row = torch.tensor([tokenizer()("Hi</s>")["input_ids"]])
    share = float(model(row).logits.softmax(1)[0, 1])
    (score,) = load(score_model(tmp_path, label="toxic")).scores(["Hi"]).values
    assert score == pytest.approx(math.log(share / (1 - share)), abs=1e-4)
    assert load(score_model(tmp_path, label="toxic")).scores(["Hi" * 100]).truncated == 1
    with pytest.raises(BadModel, match="has several labels: give --cost-label one of kind, toxic, dull"):
        load(score_model(tmp_path))
    with pytest.raises(BadModel, match="has no label 'rude'"):
        load(score_model(tmp_path, label="rude"))


def test_conversation_is_split_into_all_turns() -> None:
    text = "BEGINNING OF CONVERSATION: USER: Hi ASSISTANT:Hello USER: Bye ASSISTANT:"
    roles = [("user", "Hi"), ("assistant", "Hello"), ("user", "Bye"), ("assistant", "")]
    assert messages(text) == [{"role": role, "content": content} for role, content in roles]
    assert messages("Hello") == [{"role": "user", "content": "Hello"}]
