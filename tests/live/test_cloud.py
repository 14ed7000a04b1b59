"""The real daemon on a machine that looks like a cloud's, in a network namespace of its own,
where 169.254.169.254 answers as documented; and on machines in no cloud, where nobody is asked.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cloud_machines import GCE_DMI, OS_DISK, azure_answer, data_disk, gce_answer
from live_daemon import IOPLATEAU, Exposition, read_exposition
from machine_tree import MachineTree, azure_vm, gce_vm, nitro_instance
from waiting import wait_until

pytestmark = pytest.mark.live

IMDS = Path(__file__).parent.parent / "helpers" / "imds.py"
MIB = 1 << 20
VOLUMES = """<DescribeVolumesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><volumeSet>
<item><volumeId>vol-0123456789abcdef0</volumeId><size>8</size><volumeType>gp3</volumeType>
<iops>3000</iops><throughput>125</throughput></item>
<item><volumeId>vol-0123456789abcdef1</volumeId><size>500</size><volumeType>io2</volumeType>
<iops>10000</iops></item></volumeSet></DescribeVolumesResponse>"""
QUICK = (
    "[cloud]\nrefresh_seconds = 1\n[sampling]\ninterval_seconds = 0.2\nrate_window_seconds = 1\n"
)


@dataclass
class Machine:
    """A network namespace with only lo in it, and what runs there."""

    name: str
    place: Path
    stack: ExitStack
    daemon: subprocess.Popen | None = None
    log: Path = field(default_factory=Path)

    def run(self, *words, **more):
        return subprocess.run(
            ["ip", "netns", "exec", self.name, *map(str, words)],
            capture_output=True,
            text=True,
            timeout=60,
            **more,
        )

    def begin(self, *words, output=subprocess.DEVNULL):
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.name, *map(str, words)], stdout=output, stderr=output
        )
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)
        return process

    def say(self, name, text):
        """Change what the metadata service answers; at once, never half."""
        fresh = self.place / f"{name}.new"
        fresh.write_text(text)
        fresh.replace(self.place / name)

    def asked(self):
        file = self.place / "asked"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    def serve_metadata(self, cloud):
        self.say("cloud", cloud)
        self.run("ip", "address", "add", "169.254.169.254/32", "dev", "lo")
        self.begin(sys.executable, IMDS, self.place)
        deadline = time.monotonic() + 20
        while "169.254.169.254:80" not in self.run("ss", "-Hltn").stdout:
            assert time.monotonic() < deadline, "the metadata service does not begin"
            time.sleep(0.1)

    def serve(self, tree, toml, *flags, trace=None):
        config = self.place / "ioplateau.toml"
        config.write_text(toml)
        self.log = self.place / "ioplateau.log"
        output = self.stack.enter_context(self.log.open("wb"))
        words = [IOPLATEAU, "serve", "--config.file", config, "--web.listen-address"]
        words += ["127.0.0.1:10049", *tree.flags, *flags]
        traced = (
            ()
            if trace is None
            else ("strace", "-D", "-f", "-qq", "-e", "trace=network", "-o", trace)
        )
        self.daemon = self.begin(*traced, *words, output=output)

    def scrape(self) -> Exposition:
        """Through a process that enters the namespace: we are outside."""
        done = self.run("curl", "-sSf", "--max-time", 5, "http://127.0.0.1:10049/metrics")
        if done.returncode:
            raise OSError(done.stderr[-500:])
        return read_exposition(done.stdout)

    def wait_until(self, holds, seconds=30):
        deadline = time.monotonic() + seconds
        why = "never scraped"
        while time.monotonic() < deadline:
            assert self.daemon is None or self.daemon.poll() is None, self.log.read_text()
            try:
                found = self.scrape()
                if holds(found):
                    return found
                why = "it did not hold"
            except (OSError, LookupError) as error:
                why = str(error)
            time.sleep(0.3)
        raise TimeoutError(f"{why}\n{self.log.read_text()[-3000:]}\n{self.asked()[-20:]}")

    def packets(self):
        """Packets of every interface so far, by its name."""
        lines = self.run("cat", "/proc/net/dev").stdout.splitlines()[2:]
        return {
            name.strip(): int(rest.split()[1]) + int(rest.split()[9])
            for name, _, rest in (line.partition(":") for line in lines)
        }


@pytest.fixture
def machine(tmp_path):
    name = f"iop-{os.getpid()}"
    with ExitStack() as stack:
        subprocess.run(["ip", "netns", "add", name], check=True)
        stack.callback(subprocess.run, ["ip", "netns", "del", name], check=True)
        found = Machine(name, tmp_path, stack)
        found.run("ip", "link", "set", "lo", "up")
        yield found


def limits(found, kind, name):
    """The limits of a budget, operations first."""
    return (
        *found.values("ioplateau_budget_limit_operations_per_second", kind=kind, name=name),
        *found.values("ioplateau_budget_limit_bytes_per_second", kind=kind, name=name),
    )


def directed(found, kind, name):
    """Operations a second, and MiB/s: of reads and of writes, or one figure of both together."""
    return tuple(
        tuple(
            round(value / by)
            for way in ("read", "write", "total")
            for value in found.values(
                f"ioplateau_budget_limit_{unit}", kind=kind, name=name, direction=way
            )
        )
        for unit, by in (("operations_per_second", 1), ("bytes_per_second", MIB))
    )


def described(found, kind, name):
    return found.labels("ioplateau_budget_info", kind=kind, name=name)[0]


def knows(kind, name, *wanted):
    return lambda found: limits(found, kind, name) == wanted


AZURE = azure_answer(
    data_disk("0", name="logs", caching="ReadOnly"),
    data_disk("1", name="scratch", sku="StandardSSD_LRS"),
    os_disk=OS_DISK,
)
TWICE = azure_answer(
    data_disk("0", name="logs", caching="ReadOnly"),
    data_disk("1", name="scratch", sku="StandardSSD_LRS"),
    data_disk("2", name="more", sku="Premium_LRS", size="512"),
    os_disk=OS_DISK,
)


def test_an_azure_vm_finds_its_limits_and_tells_what_everything_was_sold_as(machine, tmp_path):
    machine.say("instance.json", AZURE)
    machine.serve_metadata("azure")
    machine.serve(azure_vm(tmp_path), QUICK)
    found = machine.wait_until(knows("disk", "sdc", 5000, 200e6))

    # With credit to burst; the base is 12,800 and 192 MB/s.
    assert limits(found, "vm_uncached", "vm") == (16_000, 400e6)
    assert limits(found, "vm_cached", "vm") == (16_000, 400e6)
    assert (
        found.value(
            "ioplateau_budget_burst_credit_ratio", kind="vm_uncached", name="vm", dimension="iops"
        )
        == 1
    )
    told = described(found, "disk", "sdc")
    assert {key: told[key] for key in ("origin", "sku", "tier", "caching", "lun", "size")} == {
        "origin": "catalogue",
        "sku": "Premium_LRS",
        "tier": "P30",
        "caching": "ReadOnly",
        "lun": "0",
        "size": "1024 GiB",
    }
    assert described(found, "disk", "sdd")["tier"] == "E30"
    assert described(found, "vm_uncached", "vm")["size"] == "Standard_D8s_v3"


def test_an_attached_disk_is_noticed_and_a_detached_one_forgotten(machine, tmp_path):
    machine.say("instance.json", AZURE)
    machine.serve_metadata("azure")
    tree = azure_vm(tmp_path)
    machine.serve(tree, QUICK)
    machine.wait_until(knows("disk", "sdc", 5000, 200e6))
    tree.scsi_disk("sde", lun=2, gib=512)
    machine.say("instance.json", TWICE)
    attached = machine.wait_until(lambda found: limits(found, "disk", "sde") != ())
    tree.remove("sde")
    machine.say("instance.json", AZURE)
    detached = machine.wait_until(
        lambda found: not found.labels("ioplateau_budget_info", kind="disk", name="sde")
    )

    assert described(attached, "disk", "sde")["tier"] == "P20"
    assert limits(attached, "disk", "sde") == (3500, 170e6)  # with credit; 2,300 and 150 MB/s
    assert limits(detached, "disk", "sdc") == (5000, 200e6)


def test_a_changed_tier_is_noticed(machine, tmp_path):
    machine.say("instance.json", AZURE)
    machine.serve_metadata("azure")
    machine.serve(azure_vm(tmp_path), QUICK)
    machine.wait_until(knows("disk", "sdc", 5000, 200e6))
    machine.say("instance.json", AZURE.replace('"StandardSSD_LRS"', '"Premium_LRS"'))
    found = machine.wait_until(knows("disk", "sdd", 5000, 200e6))

    assert described(found, "disk", "sdd")["sku"] == "Premium_LRS"


@pytest.mark.parametrize("phase", ["410", "429", "500", "slow", "huge", "garbage"])
def test_a_service_in_trouble_takes_nothing_back_and_is_heard_again(machine, tmp_path, phase):
    machine.say("instance.json", AZURE)
    machine.serve_metadata("azure")
    machine.serve(azure_vm(tmp_path), QUICK)
    machine.wait_until(knows("disk", "sdc", 5000, 200e6))
    before = len(machine.asked())
    machine.say("phase", phase)
    assert wait_until(lambda: len(machine.asked()) >= before + 3), machine.asked()
    during = machine.scrape()
    machine.say("instance.json", AZURE.replace('"StandardSSD_LRS"', '"Premium_LRS"'))
    machine.say("phase", "ok")
    after = machine.wait_until(knows("disk", "sdd", 5000, 200e6), 60)

    assert limits(during, "disk", "sdc") == (5000, 200e6)
    assert limits(after, "disk", "sdc") == (5000, 200e6)
    assert "metadata unavailable" in machine.log.read_text()
    assert "metadata answers again" in machine.log.read_text()


def test_garbage_for_an_answer_leaves_limits_unknown_and_says_so(machine, tmp_path):
    machine.say("phase", "garbage")
    machine.serve_metadata("azure")
    machine.serve(azure_vm(tmp_path), QUICK)
    machine.wait_until(lambda found: bool(found.samples and machine.asked()))
    time.sleep(1)
    found = machine.scrape()

    assert limits(found, "disk", "sdc") == ()
    assert described(found, "disk", "sdc")["lun"] == "0"
    assert "no JSON object with compute.vmSize" in machine.log.read_text()


def test_an_ec2_instance_is_asked_with_a_token(machine, tmp_path):
    machine.serve_metadata("aws")
    machine.say("type", "m5.xlarge")
    tree = nitro_instance(tmp_path)
    machine.serve(tree, QUICK + '[[disk]]\nserial = "vol*1"\nsku = "gp3"\niops = 6000\n')
    found = machine.wait_until(
        lambda found: described(found, "vm_uncached", "vm").get("size") == "m5.xlarge"
    )
    asked = machine.asked()

    # m5.xlarge bursts to 18,750 operations and 4,750 Mbit/s.
    assert limits(found, "vm_uncached", "vm") == (18_750, 4750e6 / 8)
    assert limits(found, "disk", "nvme1n1")[0] == 6000
    assert described(found, "disk", "nvme1n1")["sku"] == "gp3"
    assert asked[0][1:] == ["PUT", "/latest/api/token", "200"]
    assert {status for _, _, _, status in asked} == {"200"}


FAMILIES = {
    # Instance type: operations and megabits with credit, as in ebs-optimized.html.
    "m7i.large": (40_000, 10_000),
    "r8g.xlarge": (40_000, 10_000),
    "c7gn.8xlarge": (80_000, 20_000),
    "t3.micro": (11_800, 2085),
    "i7ie.3xlarge": (40_000, 10_000),
    "g6e.48xlarge": (240_000, 60_000),
    "x2iedn.xlarge": (65_000, 20_000),
    "hpc7a.96xlarge": (11_000, 2085),
}


def test_one_ec2_type_of_each_family_has_its_limits(machine, tmp_path):
    machine.serve_metadata("aws")
    machine.serve(nitro_instance(tmp_path), QUICK)
    for name, (operations, megabits) in FAMILIES.items():
        machine.say("type", name)
        wanted = (name, operations, megabits * 1e6 / 8)
        machine.wait_until(
            lambda found, wanted=wanted: (
                (
                    described(found, "vm_uncached", "vm").get("size"),
                    *limits(found, "vm_uncached", "vm"),
                )
                == wanted
            )
        )

    assert {status for _, _, _, status in machine.asked()} == {"200"}


DESCRIBING = QUICK.replace(
    "[cloud]\n",
    '[cloud]\ndescribe_volumes = true\nec2_endpoint = "http://169.254.169.254/ec2"\n',
)


def test_ebs_volumes_types_are_asked_of_the_ec2_api_once(machine, tmp_path):
    machine.say("volumes.xml", VOLUMES)
    machine.serve_metadata("aws")
    machine.serve(nitro_instance(tmp_path), DESCRIBING)
    found = machine.wait_until(knows("disk", "nvme1n1", 10_000, 2560 * MIB))
    asked = len(machine.asked())
    machine.wait_until(lambda _: len(machine.asked()) > asked + 3)
    doctor = machine.run(IOPLATEAU, "doctor", *nitro_instance(tmp_path / "other").flags)

    assert described(found, "disk", "nvme1n1") | {"sku": "io2", "origin": "reported"} == (
        described(found, "disk", "nvme1n1")
    )
    assert limits(found, "disk", "nvme0n1") == (3000, 125 * MIB)
    assert sum("DescribeVolumes" in path for _, _, path, _ in machine.asked()) == 1
    assert "the-secret" not in machine.log.read_text()
    assert "nvme0n1, nvme1n1 were sold as is unknown (told by nobody here)" in doctor.stdout


def test_an_ebs_volume_attached_to_a_running_instance_is_asked_about(machine, tmp_path):
    machine.say("volumes.xml", VOLUMES)
    machine.serve_metadata("aws")
    tree = nitro_instance(tmp_path)
    machine.serve(tree, DESCRIBING)
    machine.wait_until(knows("disk", "nvme1n1", 10_000, 2560 * MIB))
    more = VOLUMES.replace("def1", "def2").replace("10000", "20000")
    machine.say("volumes.xml", more)
    tree.nvme_disk("nvme2n1", "Amazon Elastic Block Store", 500, "vol0123456789abcdef2")
    machine.wait_until(knows("disk", "nvme2n1", 20_000, 4000 * MIB))

    assert sum("DescribeVolumes" in path for _, _, path, _ in machine.asked()) == 2


COMPUTE_ENGINE = {
    # Machine type and disk type: reads and writes a second, or both together; MiB/s; what the data disk
    # of 500 GiB and the VM may do, as in compute/docs/disks/performance.
    ("n2-standard-8", "PERSISTENT-BALANCED"): (((6000,), (280, 280)), ((15_000,), (800, 800))),
    ("e2-standard-16", "PERSISTENT-STANDARD"): (
        ((375, 750), (60,)),
        ((7500, 15_000), (1200, 400)),
    ),
    ("c2-standard-30", "PERSISTENT-SSD"): (((21_000,), (480, 480)), ((15_000, 8000), (600, 480))),
    ("c3-standard-22", "PERSISTENT-SSD"): (((21_000,), (480, 480)), ((25_000,), (800, 800))),
    ("m1-ultramem-80", "PERSISTENT-SSD"): (((21_000,), (480, 480)), ((70_000,), (1200, 1200))),
    ("a2-highgpu-1g", "PERSISTENT-BALANCED"): (((6000,), (280, 280)), ((15_000,), (800, 800))),
}


def test_one_machine_type_of_each_of_google_clouds_families_has_its_limits(machine, tmp_path):
    def tell(name, kind):
        # One disk of the type: two have the sum of both together.
        machine.say("disks.json", gce_answer(("data", kind)))
        machine.say("type", name)

    first = next(iter(COMPUTE_ENGINE))
    tell(*first)
    machine.serve_metadata("gcp")
    machine.serve(gce_vm(tmp_path), QUICK)
    for (name, kind), (disk, vm) in COMPUTE_ENGINE.items():
        tell(name, kind)
        machine.wait_until(
            lambda found, disk=disk, vm=vm: (
                (directed(found, "disk", "sdb"), directed(found, "vm_uncached", "vm")) == (disk, vm)
            )
        )
    found = machine.scrape()

    assert described(found, "vm_uncached", "vm")["size"] == "a2-highgpu-1g"
    assert described(found, "disk", "sdb")["sku"] == "pd-balanced"
    assert {status for _, _, _, status in machine.asked()} == {"200"}


def test_google_clouds_disks_on_nvme_have_the_types_of_the_names_that_udev_keeps(machine, tmp_path):
    tree = MachineTree(tmp_path)
    tree.dmi(GCE_DMI)
    for number, name in enumerate(("boot", "pgdata")):
        tree.nvme_disk(f"nvme{number}n1", "nvme_card-pd", 500, "nvme_card-pd")
        file = tmp_path / f"run/udev/data/b259:{number}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"E:ID_SERIAL_SHORT={name}\nE:ID_SERIAL=Google_PersistentDisk_{name}\n")
    machine.say(
        "disks.json", gce_answer(("boot", "PERSISTENT-BALANCED"), ("pgdata", "PERSISTENT-SSD"))
    )
    machine.say("type", "c3-standard-22")
    machine.serve_metadata("gcp")
    machine.serve(tree, QUICK, "--path.rootfs", tmp_path)
    found = machine.wait_until(lambda found: limits(found, "disk", "nvme1n1") != ())

    assert described(found, "disk", "nvme0n1")["sku"] == "pd-balanced"
    assert described(found, "disk", "nvme1n1")["sku"] == "pd-ssd"
    assert limits(found, "disk", "nvme1n1")[0] == 6000 + 30 * 500


def test_doctor_and_limits_ask_once_and_tell(machine, tmp_path):
    machine.say("instance.json", AZURE)
    machine.serve_metadata("azure")
    tree = azure_vm(tmp_path)
    told = machine.run(IOPLATEAU, "limits", "--json", *tree.flags)
    doctor = machine.run(IOPLATEAU, "doctor", *tree.flags)
    budgets = {
        (budget["kind"], budget["name"]): budget for budget in json.loads(told.stdout)["budgets"]
    }

    assert [one["limit"] for one in budgets["disk", "sdc"]["limits"]] == [5000, 200e6]
    assert "azure, which told azure/instance" in doctor.stdout
    assert [line[2:] for line in machine.asked()] == 2 * [
        ["/metadata/instance?api-version=2021-05-01", "200"]
    ]


def test_limits_says_why_metadata_is_not_to_be_had(machine, tmp_path):
    told = machine.run(IOPLATEAU, "limits", *azure_vm(tmp_path).flags)

    assert told.returncode == 0
    assert "note: metadata azure/instance: http://169.254.169.254" in told.stdout


def test_volumes_that_cannot_be_asked_are_doctors_finding(machine, tmp_path):
    doctor = machine.run(IOPLATEAU, "doctor", "--no-cloud", *nitro_instance(tmp_path).flags)

    assert "limited  EBS volumes: nvme0n1, nvme1n1 do not tell their exceeded time" in doctor.stdout
    assert "CAP_SYS_ADMIN" in doctor.stdout


def test_a_recording_carries_the_documents_and_its_replay_asks_nobody(machine, tmp_path):
    machine.say("instance.json", AZURE)
    machine.serve_metadata("azure")
    file = tmp_path / "vm.jsonl.gz"
    recorded = machine.run(
        *(IOPLATEAU, "record", file, "--seconds", "3", "--sampling.interval", "0.5"),
        *azure_vm(tmp_path).flags,
    )
    asked = len(machine.asked())
    told = machine.run(IOPLATEAU, "replay", file, "--format", "metrics")
    replayed = read_exposition(told.stdout)

    assert (recorded.returncode, told.returncode) == (0, 0), recorded.stderr + told.stderr
    assert limits(replayed, "disk", "sdc") == (5000, 200e6)
    assert described(replayed, "vm_uncached", "vm")["size"] == "Standard_D8s_v3"
    assert len(machine.asked()) == asked > 0


# Where nobody must be asked.


def nowhere(tmp_path):
    tree = MachineTree(tmp_path)
    tree.dmi({"/sys/class/dmi/id/sys_vendor": "QEMU", "/sys/class/dmi/id/product_name": "pc"})
    tree.scsi_disk("sda", lun=0, gib=64)
    return tree


@pytest.mark.parametrize(
    ("make", "flags"),
    [(nowhere, ()), (azure_vm, ("--no-cloud",)), (nitro_instance, ("--no-cloud",))],
    ids=["in no cloud", "on Azure, --no-cloud", "on EC2, --no-cloud"],
)
def test_not_one_packet_leaves(machine, tmp_path, make, flags):
    tree = make(tmp_path)
    trace = tmp_path / "trace"
    # An address at which somebody would be asked, and interfaces that count every packet.
    machine.run("ip", "address", "add", "169.254.169.254/32", "dev", "lo")
    machine.run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0-peer")
    machine.run("ip", "address", "add", "10.9.8.7/24", "dev", "eth0")
    machine.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
    machine.run("ip", "link", "set", "eth0", "up")
    machine.run("ip", "link", "set", "eth0-peer", "up")
    machine.run("ip", "route", "add", "default", "via", "10.9.8.1")
    before = machine.packets()
    machine.serve(tree, '[[limit]]\ndisk = "*"\niops = 777\n', *flags, trace=trace)
    assert wait_until(lambda: "listening" in machine.log.read_text()), machine.log.read_text()
    time.sleep(5)
    after = machine.packets()
    calls = [
        line
        for line in trace.read_text().splitlines()
        if any(name in line for name in ("connect(", "sendto(", "sendmsg(", "sendmmsg("))
        and "AF_UNIX" not in line
        and "AF_NETLINK" not in line
    ]
    found = machine.scrape()

    assert after == before
    assert calls == []
    assert 777 in found.values("ioplateau_budget_limit_operations_per_second")
