"""Exit codes of every command."""

GOOD, FOUND, WRONG = 0, 1, 2
INTERRUPTED, CUT_OFF = 130, 141  # as a shell tells SIGINT and SIGPIPE
