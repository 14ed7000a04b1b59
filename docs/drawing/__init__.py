"""Dashboards as pictures: what Grafana would show, drawn without it."""
