"""NFS: mounted without nconnect and suffering from it, and servers that do not answer."""

from rulebook.paper import Alert, Group
from rulebook.phrases import OF_SINGLE, OF_VOLUME, PER_CENT, board

MOUNT = board("nfs", instance="instance", mount="name")

WITHOUT_NCONNECT = Alert(
    "IoplateauNfsWithoutNconnect",
    '(rate(ioplateau_budget_throttled_seconds_total{kind="nfs_connection"}[5m]) > 0.2)\n' + OF_SINGLE,
    "5m",
    "warning",
    "vm",
    "{{ $labels.name }} of {{ $labels.instance }} is limited by its one connection: it is mounted without "
    "nconnect",
    "NFS mount {{ $labels.name }} of {{ $labels.instance }} was held back by its single TCP connection for "
    + PER_CENT + " of the last 5 minutes. Mounted with nconnect=4 or more it could go faster; the first mount "
    "of a server decides for all.",
    "nfs-without-nconnect",
    MOUNT,
)  # fmt: skip

NOT_ANSWERING = Alert(
    "IoplateauNfsServerNotAnswering",
    # Nearly all of a minute: a single answer in the middle of a stall does not end it.
    '(avg_over_time(ioplateau_budget_verdict{kind="volume",verdict="stalled"}[1m]) > 0.7)\n'
    + OF_VOLUME,
    "1m",
    "critical",
    "volume",
    "The NFS server {{ $labels.server }} does not answer {{ $labels.instance }}",
    "Calls of {{ $labels.instance }} to {{ $labels.volume }} (mounted at {{ $labels.name }}) have had no answer "
    "for more than a minute: a stall of server or network, not throttling. Processes hang until it answers.",
    "nfs-server-not-answering",
    MOUNT,
)

GROUP = Group("ioplateau-nfs", [WITHOUT_NCONNECT, NOT_ANSWERING])
