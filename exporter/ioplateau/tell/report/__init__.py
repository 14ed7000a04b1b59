"""The report: what happened in a span of time, with the figures a sizing asks for."""
