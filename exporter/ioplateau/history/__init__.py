"""What was found, remembered: episodes, events, and the last week of every flow. No I/O."""

from ioplateau.history.episodes import Episode
from ioplateau.history.events import Event, What
from ioplateau.history.history import History
from ioplateau.history.series import Series

__all__ = ["Episode", "Event", "History", "Series", "What"]
