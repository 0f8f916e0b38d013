"""`esweb completion bash|zsh|fish`: a script for the shell, made from the commands' own arguments."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Mapping

Commands = Mapping[str, argparse.ArgumentParser]


def add(command: argparse.ArgumentParser, commands: Commands, helps: Mapping[str, str]) -> None:
    """Add the command's arguments. `commands` and `helps` may still grow until it is run."""
    command.add_argument("shell", choices=list(SHELLS), help="the shell to complete commands in")
    command.set_defaults(run=lambda options: _print(SHELLS[options.shell](commands, helps)))


def _print(script: str) -> int:
    print(script)
    return 0


def _bash(commands: Commands, helps: Mapping[str, str]) -> str:
    """`source <(esweb completion bash)`."""
    return "\n".join([
        "_esweb() {",
        '  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=""',
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f"    words={shlex.quote(' '.join(commands))}",
        "  else",
        '    case "${COMP_WORDS[1]} $prev" in',
        *[f"      {shlex.quote(f'{name} {option}')}) words={shlex.quote(' '.join(choices))} ;;"
          for name, command in commands.items() for option, choices in _choices(command).items()],
        '      *) case "${COMP_WORDS[1]}" in',
        *[f"        {name}) words={shlex.quote(' '.join(_words(command)))} ;;" for name, command in commands.items()],
        "      esac ;;",
        "    esac",
        "  fi",
        '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
        "}",
        "complete -o default -F _esweb esweb",
    ])  # fmt: skip


def _zsh(commands: Commands, helps: Mapping[str, str]) -> str:
    """`source <(esweb completion zsh)`, after compinit."""
    return "\n".join([
        "#compdef esweb",
        "_esweb() {",
        "  if (( CURRENT == 2 )); then",
        f"    compadd -- {' '.join(commands)}",
        "    return",
        "  fi",
        '  case "${words[2]} ${words[CURRENT-1]}" in',
        *[f"    {shlex.quote(f'{name} {option}')}) compadd -- {' '.join(choices)}; return ;;"
          for name, command in commands.items() for option, choices in _choices(command).items()],
        "  esac",
        '  case "${words[2]}" in',
        *[f"    {name}) compadd -- {' '.join(_words(command))} ;;" for name, command in commands.items()],
        "  esac",
        "  _files",
        "}",
        "compdef _esweb esweb",
    ])  # fmt: skip


def _fish(commands: Commands, helps: Mapping[str, str]) -> str:
    """`esweb completion fish | source`."""
    lines = [
        f"complete -c esweb -f -n __fish_use_subcommand -a {name} -d {shlex.quote(helps[name])}" for name in commands
    ]
    for name, command in commands.items():
        choices = _choices(command)
        here = f"complete -c esweb -n '__fish_seen_subcommand_from {name}'"
        for option in (word for word in _words(command) if word.startswith("--")):
            values = f" -xa {shlex.quote(' '.join(choices[option]))}" if option in choices else ""
            lines.append(f"{here} -l {option[2:]}{values}")
        lines += [f"{here} -f -a {word}" for word in _words(command) if not word.startswith("-")]
    return "\n".join(lines)


def _words(command: argparse.ArgumentParser) -> list[str]:
    """Return the words that may follow a command: its options, and the choices of its positional arguments."""
    options = [option for action in command._actions for option in action.option_strings if option.startswith("--")]
    return options + [
        str(choice) for action in command._actions if not action.option_strings for choice in action.choices or ()
    ]


def _choices(command: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Return option -> the choices that may follow it, if they are known."""
    return {
        option: [str(choice) for choice in action.choices]
        for action in command._actions
        for option in action.option_strings
        if action.choices and option.startswith("--")
    }


SHELLS: dict[str, Callable[[Commands, Mapping[str, str]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
