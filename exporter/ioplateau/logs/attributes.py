"""Attributes that we give a logging.LogRecord."""

FIELDS = "ioplateau_fields"  # a mapping: what follows the message
KIND = "ioplateau_kind"  # what events are counted by; without it, the message
LEFT_OUT = "ioplateau_left_out"  # events of this kind that were not logged since the last that was
