"""Messages -> the ids of the tokens that a model should continue, the same for training and evaluation.

    messages ending with the user, chat template     the template with its generation prompt
    messages ending with the assistant, or a prefill the template, ended where the assistant's turn should continue
    no chat template, or the style "text"            the contents, a blank line between them, and the tokenizer's own
                                                     special tokens such as BOS; a prefill follows directly

The ids are those of transformers: `apply_chat_template` writes special tokens itself, and none are added to its text;
`tokenizer(text)` adds its own. Text that already begins with the BOS token gets no second one. Nothing is cut off.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jinja2 import TemplateError

from workers.config import ConfigError, Problem, RunConfig

Messages = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class PromptFormat:
    """The one rule of a run for turning messages {"role", "content"} into a prompt.

    `style`: auto (the chat template if the tokenizer has one), text or chat. `prefill`: text that every response
    continues; a prompt that ends with it already contains it. `options`: further variables of the chat template.
    Creation raises ConfigError for the style chat with a tokenizer that has no template.
    """

    tokenizer: Any
    style: str = "auto"
    prefill: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.style == "chat" and not self.tokenizer.chat_template:
            raise ConfigError(
                [
                    Problem(
                        "task.prompt_style",
                        "is chat, but the model's tokenizer has no chat template: set auto or text, or add a "
                        "chat_template to the model's folder",
                    )
                ]
            )

    @classmethod
    def from_config(cls, config: RunConfig, tokenizer: Any) -> PromptFormat:
        """Return the format that a run's config sets. Raise ConfigError."""
        return cls(tokenizer, config.task.prompt_style, config.task.prefill, _template_options(config))

    @property
    def has_template(self) -> bool:
        """Return whether the chat template writes the prompts."""
        return self.style != "text" and bool(self.tokenizer.chat_template)

    def text(self, messages: Messages) -> str:
        """Return the prompt as text, with the special tokens of the template. Raise ConfigError if the template refuses
        it."""
        if not self.has_template:
            return _continued("\n\n".join(m["content"] for m in messages), self.prefill)
        turns = self._turns(messages)
        # An empty turn of the assistant's is the same as none: the generation prompt begins it.
        goes_on = turns[-1]["role"] == "assistant"
        ending = {"continue_final_message": goes_on, "add_generation_prompt": not goes_on, "tokenize": False}
        try:
            return str(self.tokenizer.apply_chat_template(turns, **{**self.options, **ending}))
        except (TemplateError, ValueError) as error:
            roles = ", ".join(turn["role"] for turn in turns)
            raise ConfigError(
                [
                    Problem(
                        "task.prompt_style",
                        f"the model's chat template refuses a prompt with the turns {roles}: {error}; change the "
                        "messages or the prefill, or set text",
                    )
                ]
            ) from error

    def ids(self, messages: Messages) -> list[int]:
        """Return the prompt's tokens, BOS included if the model expects it. Raise ConfigError."""
        return self.encode(self.text(messages))

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a prompt that `text` returned. Raise ValueError if there are none."""
        bos = self.tokenizer.bos_token
        adds = not self.has_template and not (bos and text.startswith(bos))
        ids: list[int] = self.tokenizer(text, add_special_tokens=adds)["input_ids"]
        if not ids:
            raise ValueError(f"a prompt must have at least one token, but {text!r} has none")
        return ids

    def response_ids(self, messages: Messages, response: str) -> list[int]:
        """Return the tokens of a response as they follow those of the prompt. Raise ConfigError.

        After text without a chat template a space precedes the response, as between words.
        """
        text = self.text(messages)
        prompt = self.encode(text)
        spaced = response if self.has_template or text[-1:].isspace() else f" {response}"
        joint = self.encode(text + spaced)
        if joint[: len(prompt)] == prompt:
            return joint[len(prompt) :]
        # The tokenizer merges the prompt's end with the response's beginning.
        ids: list[int] = self.tokenizer(spaced, add_special_tokens=False)["input_ids"]
        return ids

    def display_text(self, messages: Messages) -> str | None:
        """Return the prompt for display: the user's last message, and the text that the response continues. None
        without."""
        question = next((m["content"] for m in reversed(messages) if m["role"] == "user"), None)
        opening = messages[-1]["content"] if messages[-1]["role"] == "assistant" else ""
        parts = [part for part in (question, opening) if part]
        if self.prefill and self.has_template and not "\n\n".join(parts).endswith(self.prefill):
            parts.append(self.prefill)
            return "\n\n".join(parts)
        return _continued("\n\n".join(parts), self.prefill) if parts or self.prefill else question

    def _turns(self, messages: Messages) -> list[dict[str, str]]:
        """Return the turns for the template. The last is the assistant's, and not empty, if the response continues it.

        A prefill at the end of the user's message, as in the published Countdown prompts, moves to the assistant.
        """
        turns = [dict(m) for m in messages]
        last = turns[-1]
        if last["role"] == "assistant":
            last["content"] = _continued(last["content"], self.prefill)
        elif self.prefill:
            last["content"] = last["content"].removesuffix(self.prefill)
            turns.append({"role": "assistant", "content": self.prefill})
        return turns if turns[-1]["content"] or turns[-1]["role"] != "assistant" or len(turns) == 1 else turns[:-1]


def chat_text(tokenizer: Any, messages: Messages) -> str:
    """Return the prompt as text, in the format auto and without a prefill."""
    return PromptFormat(tokenizer).text(messages)


def _continued(text: str, prefill: str) -> str:
    return text if text.endswith(prefill) else text + prefill


def _template_options(config: RunConfig) -> Mapping[str, Any]:
    """Return GRPO's `chat_template_kwargs`, an object or its JSON as TRL takes it. Raise ConfigError."""
    value = config.grpo.extra.get("chat_template_kwargs") if config.grpo else None
    try:
        options = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        options = value
    if options is not None and not isinstance(options, Mapping):
        raise ConfigError([Problem("grpo.extra.chat_template_kwargs", f"must be an object, not {value!r}"[:200])])
    return options or {}
