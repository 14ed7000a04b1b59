"""Run: the thin shell that owns clocks, threads, sockets, signals and files."""
