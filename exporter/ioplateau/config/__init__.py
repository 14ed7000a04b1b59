"""Configuration: one TOML file, the environment and flags become one checked tree."""

from ioplateau.config.flags import add_flags
from ioplateau.config.loading import ConfigurationError, load
from ioplateau.config.settings import Settings

__all__ = ["ConfigurationError", "Settings", "add_flags", "load"]
