"""Which ports and addresses the sockets of NFS mounts are looked for at."""

from ioplateau.run.sources import server_addresses, server_ports
from nfs_texts import entry


def test_ports_that_mounts_tell_are_looked_at_beside_the_configured_ones():
    table = entry("/a", "0:40").replace(b"\n", b",port=20049\n") + entry("/b", "0:41")

    assert server_ports(table, (2049,)) == (2049, 20049)


def test_each_address_of_a_server_is_looked_at_once_and_those_of_other_kinds_never():
    others = entry("/c", "0:42", address="10.0.0.6").replace(b" nfs4 ", b" cifs ")
    table = entry("/a", "0:40") + entry("/b", "0:41") + entry("/d", "0:43", address="::1") + others

    assert server_addresses(table) == ("10.0.0.4", "::1")


def test_an_nfs_mount_without_an_address_is_told_from_none():
    table = entry("/a", "0:40") + entry("/b", "0:41").replace(b",addr=10.0.0.4", b"")

    assert server_addresses(table) == ("10.0.0.4", "")
