"""Prints alerts/*.rules.yml as a PrometheusRule for the Prometheus operator.

python3 deploy/kubernetes/rules.py | kubectl apply -f -
"""

from pathlib import Path

ALERTS = Path(__file__).resolve().parents[2] / "alerts"
HEAD = """\
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: ioplateau
  namespace: ioplateau
  labels: {app.kubernetes.io/name: ioplateau}
spec:
  groups:
"""


def prometheus_rule() -> str:
    """The groups of every rule file, one after the other."""
    return HEAD + "".join(_groups(file.read_text()) for file in sorted(ALERTS.glob("*.rules.yml")))


def _groups(text: str) -> str:
    _, found, groups = text.partition("\ngroups:\n")
    assert found, "a rule file without groups"
    return "".join(f"  {line}\n" if line else "\n" for line in groups.splitlines())


if __name__ == "__main__":
    print(prometheus_rule(), end="")
