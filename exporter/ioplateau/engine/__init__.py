"""Engine: the fold. observe(Snapshot) -> State."""

from ioplateau.engine.fold import Engine, without_counts
from ioplateau.engine.settings import EngineSettings

__all__ = ["Engine", "EngineSettings", "without_counts"]
