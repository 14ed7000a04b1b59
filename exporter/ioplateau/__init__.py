"""ioplateau: says when a Linux VM's storage has plateaued at a limit, and which limit."""

__version__ = "0.1.0"
