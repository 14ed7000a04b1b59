"""Which ports the sockets of NFS mounts are looked for at."""

from ioplateau.run.sources import server_ports
from nfs_texts import entry


def test_ports_that_mounts_tell_are_looked_at_beside_the_configured_ones():
    table = entry("/a", "0:40").replace(b"\n", b",port=20049\n") + entry("/b", "0:41")

    assert server_ports(table, (2049,)) == (2049, 20049)
