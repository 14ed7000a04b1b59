"""Engine: the fold. observe(Snapshot) -> State."""

from ioplateau.engine.fold import Engine, uncounted
from ioplateau.engine.settings import EngineSettings

__all__ = ["Engine", "EngineSettings", "uncounted"]
