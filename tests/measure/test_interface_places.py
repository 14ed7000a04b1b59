"""Which interfaces carry what leaves the machine, each byte once."""

from ioplateau.measure.host import Host
from ioplateau.measure.interfaces import driver, outward, read_places

REAL = "../../devices/pci0000:00/0000:00:05.0/net/"
VIRTUAL = "../../devices/virtual/net/"


def places(masters=None, **links):
    found = {f"/sys/class/net/{name}": target + name for name, target in links.items()}
    for name, master in (masters or {}).items():
        found[f"/sys/class/net/{name}/master"] = f"../../../{master}"
    return found


def test_bridges_and_tunnels_repeat_what_a_real_interface_carries():
    told = places(lo=VIRTUAL, eth0=REAL, docker0=VIRTUAL, veth1=VIRTUAL)

    assert outward(["lo", "eth0", "docker0", "veth1"], told) == ("eth0",)


def test_a_bond_is_its_members():
    told = places({"eth0": "bond0", "eth1": "bond0"}, bond0=VIRTUAL, eth0=REAL, eth1=REAL)

    assert outward(["bond0", "eth0", "eth1"], told) == ("eth0", "eth1")


def test_azures_synthetic_interface_counts_for_its_virtual_function():
    told = places({"enP1s1": "eth0"}, eth0="../../devices/LNXSYSTM:00/VMBUS:01/net/", enP1s1=REAL)

    assert outward(["lo", "eth0", "enP1s1"], told) == ("eth0",)


def test_infiniband_is_left_out_where_there_is_another():
    told = places(eth0=REAL, ib0=REAL) | {
        "/sys/class/net/eth0/type": "1",
        "/sys/class/net/ib0/type": "32",
    }

    assert outward(["eth0", "ib0"], told) == ("eth0",)
    assert outward(["ib0"], told) == ("ib0",)


def test_where_none_is_real_names_decide():
    assert outward(["lo", "eth0"], places(lo=VIRTUAL, eth0=VIRTUAL)) == ("eth0",)
    assert outward(["lo", "eth0", "docker0", "ifb0"], {}) == ("eth0",)


def test_places_are_read_from_sysfs(tmp_path):
    home = tmp_path / "devices/pci0/net/eth0"
    home.mkdir(parents=True)
    (home / "device").mkdir()
    (home / "device/driver").symlink_to("../../../bus/pci/drivers/ena")
    (tmp_path / "class/net").mkdir(parents=True)
    (tmp_path / "class/net/eth0").symlink_to("../../devices/pci0/net/eth0")
    (home / "type").write_text("32\n")
    found = read_places(Host("/", sysfs=tmp_path))

    assert found["/sys/class/net/eth0/type"] == "32"
    assert driver("eth0", found) == "ena"
    assert outward(["eth0"], found) == ("eth0",)


def test_a_machine_without_sysfs_has_no_places(tmp_path):
    assert read_places(Host("/", sysfs=tmp_path)) == {}
    assert driver("eth0", {}) == ""
