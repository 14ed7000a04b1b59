"""What ends a command, told in one place."""

from __future__ import annotations


class CommandError(Exception):
    """Why a command cannot do what was asked, in a sentence, or one a line."""
