"""Tell: the state becomes words for Prometheus, people and programs. Decides nothing."""
