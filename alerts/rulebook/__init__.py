"""Recording rules and alerts, as Python that prints Prometheus' rule files."""
