"""Prompts have the ids that transformers gives them, with any kind of tokenizer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workers.models.tokenizers import BOS, KINDS, tokenizer_of
from workers.config import ConfigError, RunConfig
from workers.models import Loaded, PromptFormat

USER = {"role": "user", "content": "Use 7, 5 and 2 to make 4."}
SYSTEM = {"role": "system", "content": "Be brief."}
BEGUN = {"role": "assistant", "content": "Let me think.\n<think>"}
PUBLISHED = {"role": "user", "content": "Use 7, 5 and 2 to make 4.Let me think.\n<think>"}


@pytest.fixture(params=KINDS)
def tokenizer(micro: Loaded, request: pytest.FixtureRequest) -> Any:
    return tokenizer_of(micro.tokenizer, request.param)


def ids_of_template(tokenizer: Any, messages: list[dict[str, str]], **ending: bool) -> list[int]:
    ids: list[int] = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True, **ending)["input_ids"]
    return ids


def test_prompt_that_ends_with_the_user_has_the_ids_of_transformers(tokenizer: Any) -> None:
    expected = (
        ids_of_template(tokenizer, [USER], add_generation_prompt=True)
        if tokenizer.chat_template
        else tokenizer(USER["content"])["input_ids"]
    )
    assert PromptFormat(tokenizer).ids([USER]) == expected
    assert expected.count(tokenizer.bos_token_id) == (tokenizer.bos_token is not None)


def test_prompt_that_ends_with_the_assistant_is_continued_with_the_ids_of_transformers(tokenizer: Any) -> None:
    expected = (
        ids_of_template(tokenizer, [USER, BEGUN], continue_final_message=True)
        if tokenizer.chat_template
        else tokenizer(f"{USER['content']}\n\n{BEGUN['content']}")["input_ids"]
    )
    assert PromptFormat(tokenizer).ids([USER, BEGUN]) == expected
    assert tokenizer.decode(expected).endswith("<think>")


def test_configured_prefill_begins_the_answer(tokenizer: Any) -> None:
    prompts = PromptFormat(tokenizer, prefill=BEGUN["content"])
    if tokenizer.chat_template:
        expected = ids_of_template(tokenizer, [USER, BEGUN], continue_final_message=True)
        assert prompts.ids([USER]) == expected
        assert prompts.ids([USER, BEGUN]) == expected
    else:
        expected = tokenizer(PUBLISHED["content"])["input_ids"]
        assert prompts.ids([USER]) == expected
    assert prompts.ids([PUBLISHED]) == expected


def test_style_text_has_the_ids_of_the_plain_tokenizer_with_any_template(tokenizer: Any) -> None:
    prompts = PromptFormat(tokenizer, style="text", prefill="<think>")
    assert prompts.ids([PUBLISHED]) == tokenizer(PUBLISHED["content"])["input_ids"]
    assert (
        PromptFormat(tokenizer, style="text").ids([SYSTEM, USER])
        == (tokenizer("Be brief.\n\nUse 7, 5 and 2 to make 4.")["input_ids"])
    )


def test_text_that_begins_with_bos_gets_no_second_one(micro: Loaded) -> None:
    tokenizer = tokenizer_of(micro.tokenizer, "no template, BOS")
    rendered = {"role": "user", "content": f"{BOS}What is it?"}
    assert PromptFormat(tokenizer).ids([rendered]) == tokenizer("What is it?")["input_ids"]


def test_empty_turn_of_the_assistant_is_begun_by_the_generation_prompt(micro: Loaded) -> None:
    empty = {"role": "assistant", "content": ""}
    prompts = PromptFormat(micro.tokenizer)
    assert prompts.ids([USER, empty]) == prompts.ids([USER])


@pytest.mark.parametrize("kind", KINDS[1:3])
def test_style_chat_without_a_template_is_refused_with_the_choices(micro: Loaded, kind: str) -> None:
    with pytest.raises(ConfigError, match=r"task\.prompt_style: is chat, but .* no chat template: set auto or text"):
        PromptFormat(tokenizer_of(micro.tokenizer, kind), style="chat")


def test_template_that_refuses_a_role_is_named_with_the_choices(micro: Loaded) -> None:
    tokenizer = tokenizer_of(micro.tokenizer, "template that writes BOS")
    with pytest.raises(ConfigError, match=r"refuses .* system, user: only user and assistant .* or set text"):
        PromptFormat(tokenizer).ids([SYSTEM, USER])


def test_prompt_without_tokens_is_refused(micro: Loaded) -> None:
    with pytest.raises(ValueError, match="at least one token"):
        PromptFormat(tokenizer_of(micro.tokenizer, "no template, no BOS")).ids([{"role": "user", "content": ""}])


@pytest.mark.parametrize(("style", "expected"), [("auto", "Why?\n\n<think>"), ("text", "Why?<think>")])
def test_displayed_prompt_includes_prefill(micro: Loaded, style: str, expected: str) -> None:
    prompts = PromptFormat(micro.tokenizer, style=style, prefill="<think>")
    assert prompts.display_text([SYSTEM, {"role": "user", "content": "Why?"}]) == expected
    assert prompts.display_text([PUBLISHED]) == PUBLISHED["content"]
    assert PromptFormat(micro.tokenizer, style=style).display_text([SYSTEM, USER]) == USER["content"]


def test_options_of_the_template_come_from_the_config(micro: Loaded) -> None:
    tokenizer = tokenizer_of(micro.tokenizer, "no template, no BOS")
    tokenizer.chat_template = "{{ messages[0]['content'] }}{% if terse %} Be terse.{% endif %}"
    extra = {"chat_template_kwargs": {"terse": True}}
    config = RunConfig.from_json({"method": "grpo", "grpo": {"extra": extra}})
    assert PromptFormat.from_config(config, tokenizer).text([USER]) == f"{USER['content']} Be terse."
    wrong = RunConfig.from_json({"method": "grpo", "grpo": {"extra": {"chat_template_kwargs": "terse"}}})
    with pytest.raises(ConfigError, match=r"grpo\.extra\.chat_template_kwargs: must be an object, not 'terse'"):
        PromptFormat.from_config(wrong, tokenizer)
