"""Judge: rates are held against limits and become verdicts. Pure: no files, clocks or sockets."""
