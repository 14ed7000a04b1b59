"""The five dashboards, as Python that prints Grafana's JSON."""
