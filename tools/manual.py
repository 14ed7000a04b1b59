"""Writes the man page and the completion of bash from the parser itself: `make docs`.

python tools/manual.py DIRECTORY   writes ioplateau.1 and ioplateau.bash there
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from ioplateau.cli import manual
from ioplateau.cli.commands import parser as whole_parser
from ioplateau.config.flags import CONFIG_FILE, FLAGS

DESCRIPTION = (
    "ioplateau says when a Linux VM's storage has plateaued at a limit: which resource, which limit,"
    " since when, and on what evidence."
)


def man() -> str:
    """troff, man(7)."""
    return "\n".join(_man()) + "\n"


def _man() -> Iterator[str]:
    yield '.TH IOPLATEAU 1 "" ioplateau "User Commands"'
    yield from (".SH NAME", r"ioplateau \- says at which limit a VM's storage is")
    yield from (".SH SYNOPSIS", r".B ioplateau", r"\fICOMMAND\fR [\fIOPTION\fR ...]")
    yield from (".SH DESCRIPTION", _plain(DESCRIPTION))
    yield ".SH COMMANDS"
    for name, parser in commands().items():
        yield from (f".SS {name}", _plain(parser.description or ""))
        for action in own(parser):
            yield from (".TP", _term(action), _plain(_told(action)))
        page = manual.PAGES[name]
        for command, what in page.examples:
            yield from (".PP", rf"\fB{_plain(command)}\fR", ".br", _plain(what))
        codes = "; ".join(f"{code}: {meaning}" for code, meaning in page.codes)
        yield from (".PP", _plain(f"Exit codes: {codes}."))
    yield from (
        ".SH SETTINGS",
        "Each command takes all of them; its help lists those that matter to it.",
    )
    yield "A flag beats its environment variable, which beats the configuration file."
    for flag in (CONFIG_FILE, *FLAGS):
        value = "" if flag.is_switch else r"=\fIVALUE\fR"
        yield from (".TP", rf"\fB\-\-{_plain(flag.name)}\fR{value}, \fB{flag.variable}\fR")
        yield _plain(flag.help)
    yield from (".SH FILES", ".TP", ".I /etc/ioplateau/ioplateau.toml")
    yield (
        "The configuration of the service, and of the commands of its package that look at this machine;"
        " each key stands in it with a comment."
    )
    yield from (".TP", ".I /var/lib/ioplateau", "What must survive a restart.")


def bash() -> str:
    """A completion for bash: commands, and the flags of each."""
    cases = "\n".join(
        f'        {name}) words="{" ".join(_spellings(parser))}" ;;'
        for name, parser in commands().items()
    )
    return f"""# Completion of ioplateau for bash. Written by tools/manual.py from the parser.
_ioplateau() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "{" ".join(commands())} --help --version" -- "$word")
        return
    fi
    case ${{COMP_WORDS[1]}} in
{cases}
        *) words="" ;;
    esac
    [ "$word" != = ] || word="" # of --flag=, whose value bash takes for a word of its own
    case $word in
        -*) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word") ;;
        *) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    esac
}}
complete -o filenames -F _ioplateau ioplateau
"""


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command, in the order of the help."""
    actions = whole_parser()._actions
    (found,) = (each for each in actions if isinstance(each, argparse._SubParsersAction))
    return dict(found.choices)


def own(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """What a command takes besides settings and --help."""
    settings = {f"--{flag.name}" for flag in (CONFIG_FILE, *FLAGS)}
    return [
        action
        for action in parser._actions
        if not settings & set(action.option_strings) and action.dest != "help"
    ]


def _spellings(parser: argparse.ArgumentParser) -> list[str]:
    shown = (each for each in parser._actions if each.help != argparse.SUPPRESS)
    return [spelling for each in shown for spelling in each.option_strings]


def _term(action: argparse.Action) -> str:
    value = action.metavar or ("|".join(action.choices) if action.choices else "")
    value = rf"\fI{_plain(str(value))}\fR" if value else ""
    names = ", ".join(rf"\fB{_plain(name)}\fR" for name in action.option_strings)
    return " ".join(filter(None, (names, value)))


def _told(action: argparse.Action) -> str:
    return (action.help or "to judge again").replace("%(default)s", str(action.default))


def _plain(text: str) -> str:
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    (directory / "ioplateau.1").write_text(man())
    (directory / "ioplateau.bash").write_text(bash())
