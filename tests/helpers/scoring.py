"""bench/ is no package; its scoring is what the tests of stories and recordings use."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import recordings
import score

__all__ = ["recordings", "score"]
