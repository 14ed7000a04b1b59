"""One disk, however many paths the kernel lists with it."""

import pytest

from ioplateau.measure import diskstats, multipath, sysblock
from ioplateau.measure.snapshot import Static

PCI = "../../devices/pci0000:00/0000:00:03.0/nvme/nvme0/nvme0c0n1"
SUBSYSTEM = "../../devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1"


def devices(**block):
    return sysblock.parse(Static(block={n: {"size": "2048", **said} for n, said in block.items()}))


def counters(text):
    return list(diskstats.parse(text.encode()).disks.values())


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("nvme0c0n1", "nvme0n1"),
        ("nvme3c12n2", "nvme3n2"),
        ("nvme0n1", ""),
        ("nvme0n1p1", ""),
        ("sda", ""),
    ],
)
def test_a_path_is_named_by_subsystem_controller_and_namespace(name, head):
    assert multipath.head_name(name) == head


def test_a_path_without_sysfs_is_told_by_the_head_beside_it():
    assert multipath.paths(["nvme0c0n1", "nvme0n1", "nvme1c0n1"], {}) == {"nvme0c0n1": "nvme0n1"}


def test_whatever_else_the_kernel_hides_is_no_disk():
    told = devices(sdb={"hidden": "1"}, sdc={"hidden": "0"})

    assert multipath.paths(told, told) == {"sdb": ""}


def test_a_head_is_described_by_its_paths_where_its_subsystem_is_silent():
    path = {"hidden": "1", "link": PCI, "device/serial": "vol1", "nsid": "1", "device/model": "X"}
    told = devices(nvme0n1={"link": SUBSYSTEM, "device/model": "Y"}, nvme0c0n1=path)
    found = multipath.described(told)

    assert set(found) == {"nvme0n1"}
    assert found["nvme0n1"].serial == "vol1"
    assert found["nvme0n1"].model == "Y"
    assert found["nvme0n1"].nvme_namespace == 1
    assert found["nvme0n1"].kind == "disk"


def test_a_head_over_the_network_is_a_network_disk():
    path = {"hidden": "1", "link": PCI, "device/transport": "tcp"}
    told = devices(nvme0n1={"link": SUBSYSTEM}, nvme0c0n1=path)

    assert multipath.described(told)["nvme0n1"].kind == "network"


def mapped(paths, **node):
    said = {name: {"device/vpd_pg80": "SER1", **path} for name, path in paths.items()}
    return devices(**said, **{"dm-0": {"dm/name": "x", "slaves": [*paths], **node}})


@pytest.mark.parametrize(
    ("paths", "node", "found"),
    [
        ({"sda": {}, "sdb": {}}, {}, {"sda": "dm-0", "sdb": "dm-0"}),  # no UUID recorded
        ({"sda": {}, "sdb": {}}, {"dm/uuid": "mpath-36"}, {"sda": "dm-0", "sdb": "dm-0"}),
        ({"sda": {}}, {"dm/uuid": "mpath-36"}, {"sda": "dm-0"}),  # the other path has gone
        ({"sda": {}, "sdb": {}}, {"dm/uuid": "LVM-abc"}, {}),
        ({"sda": {"wwid": "naa.1"}, "sdb": {"wwid": "naa.2"}}, {}, {}),
        ({"sda": {}}, {}, {}),
        ({"sda": {}}, {"dm/uuid": "part1-mpath-36"}, {}),
    ],
)
def test_the_paths_of_a_mapper_node_are_told_by_its_uuid_or_by_what_they_have_in_common(
    paths, node, found
):
    told = mapped(paths, **node)

    assert multipath.paths(told, told) == found


@pytest.mark.parametrize(
    ("link", "kind"),
    [("", "disk"), ("../../devices/platform/host1/session1/1:0:0:1/block/sda", "network")],
)
def test_a_mapper_node_over_paths_is_described_as_their_disk(link, kind):
    told = mapped({"sda": {"link": link}, "sdb": {"link": link}}, **{"dm/uuid": "mpath-36"})
    (node,) = multipath.described(told).values()

    assert (node.kind, node.serial, node.paths) == (kind, "SER1", ("sda", "sdb"))
    assert node.slaves == ()


IDLE_HEAD = "259 0 nvme0n1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
HEAD = "259 0 nvme0n1 30 0 240 60 3 0 24 6 0 66 66 0 0 0 0 0 0\n"
PATHS = (
    "259 1 nvme0c0n1 10 1 80 20 1 0 8 2 1 22 22 4 5 6 7 8 9\n"
    "259 2 nvme0c1n1 20 2 160 40 2 0 16 4 2 44 44 4 5 6 7 8 9\n"
)


@pytest.mark.parametrize(
    ("text", "said", "names"),
    [
        (IDLE_HEAD, {}, ["nvme0c0n1", "nvme0c1n1"]),  # kernels up to 6.3
        (HEAD, {}, ["nvme0n1"]),
        (HEAD, {"queue/iostats": "1"}, ["nvme0n1"]),
        (HEAD, {"queue/iostats": "0"}, ["nvme0c0n1", "nvme0c1n1"]),  # switched off meanwhile
    ],
)
def test_the_head_counts_where_it_does_and_else_its_paths(text, said, names):
    head, *paths = counters(text + PATHS)
    found = multipath.counting(head, paths, devices(nvme0n1=said)["nvme0n1"])

    assert [one.name for one in found] == names


def test_without_paths_the_head_counts():
    (head,) = counters(IDLE_HEAD)

    assert multipath.counting(head, [], None) == (head,)


def test_paths_add_up_under_the_heads_name():
    head, *paths = counters(IDLE_HEAD + PATHS)
    (whole,) = counters("259 0 nvme0n1 30 3 240 60 3 0 24 6 3 66 66 8 10 12 14 16 18\n")

    assert multipath.together(head, paths) == whole


def test_a_column_that_one_path_lacks_is_not_known():
    head, *paths = counters(IDLE_HEAD + PATHS.replace(" 8 9\n", "\n", 1))
    whole = multipath.together(head, paths)

    assert whole.discards == 8
    assert whole.flushes is None
