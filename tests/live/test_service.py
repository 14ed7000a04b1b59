"""The deb in a guest that boots systemd: its whole life, from installation to purge.

One guest lives it once, in order, and what was seen on the way is written down; each test reads
one thing of that. A second guest is its NFS server. Needs what guests/guest.py names, and the
Debian packages prometheus, openssl and systemd on this machine.
"""

import contextlib
import json
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import bcrypt
import pytest

from built_packages import one
from guests.guest import Guest, Link, booted
from guests.lasting import LastingGuest
from guests.nfs import mount_nfs, serve_nfs
from live_daemon import IOPLATEAU, Exposition, free_port, read_exposition, scrape

pytestmark = [pytest.mark.live, pytest.mark.guest, pytest.mark.timeout(1500)]

PORT = 10049
MOST_EXPOSURE = 1.5
USER, PASSWORD = "prometheus", "correct horse"
PROMETHEUS = """
global: {{scrape_interval: 2s, scrape_timeout: 2s}}
scrape_configs:
  - job_name: open
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
  - job_name: closed
    scheme: https
    basic_auth: {{username: {user}, password: {password}}}
    tls_config: {{ca_file: {ca}}}
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""
# Does what the daemon may not, under the service's own filter of addresses.
KNOCK = """
import socket
for place in {places}:
    line = socket.socket()
    line.settimeout(3)
    try:
        line.connect(place)
        print(place[0], "reached")
    except OSError:
        print(place[0], "denied")
"""


@dataclass(slots=True)
class Life:
    """What was seen. Commands' outputs as text, expositions as such."""

    said: dict[str, str] = field(default_factory=dict)
    scraped: dict[str, Exposition] = field(default_factory=dict)
    targets: dict[str, dict[str, str]] = field(default_factory=dict)  # job -> health, by phase


class Machines:
    """The guest, its server, and what they are asked."""

    def __init__(self, server: Guest, guest: LastingGuest, life: Life) -> None:
        self.server, self.guest, self.life = server, guest, life

    def note(self, what: str, command: str) -> str:
        self.life.said[what] = self.guest.run(command, check=False)
        return self.life.said[what]

    def scrape(self, what: str = "") -> Exposition:
        found = scrape(f"http://127.0.0.1:{self.guest.port(PORT)}/metrics", 10)
        self.life.scraped[what] = found
        return found

    def until_mounted(self, what: str, *mounts: str) -> None:
        """The first scrape that knows these NFS mounts, or the last one that did not."""
        for _ in range(30):
            with contextlib.suppress(OSError):
                if set(mounts) <= mounts_of(self.scrape(what)):
                    return
            time.sleep(1)

    def until_running(self, seconds: float = 120, restarts: int = 0) -> bool:
        deadline = time.monotonic() + seconds
        show = "systemctl show -p ActiveState -p NRestarts ioplateau"
        while time.monotonic() < deadline:
            told = self.guest.run(show, check=False)  # systemd may be too busy to tell
            now = dict(re.findall(r"^(\w+)=(.*)$", told, re.MULTILINE))
            if now.get("ActiveState") == "active" and int(now["NRestarts"]) >= restarts:
                return True
            time.sleep(1)
        return False


def mounts_of(now: Exposition) -> set[str]:
    return {found["mount"] for found in now.labels("ioplateau_nfs_mount_info")}


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    package = one("*_amd64.deb")
    found, link = Life(), Link()
    server = Guest("server", number=1, link=link)
    guest = LastingGuest("guest", number=2, link=link, ports=(PORT,), cpus=2)
    with booted(server, guest):
        machines = Machines(server, guest, found)
        serve_nfs(server, ["/export/home", "/export/later"])
        guest.run("userdel ioplateau && mkdir -p /home/nfs /home/later")  # nobody's account is left
        mount_nfs(guest, server, "/export/home", "/home/nfs", nconnect=2, options="actimeo=1")
        guest.put(package, "/root/ioplateau.deb")
        for chapter in (
            _installed,
            _a_mount_is_made_later,
            _confined,
            _in_a_container,
            _the_server_dies,
            _hung,
            _configured,
            lambda of: _closed(of, tmp_path_factory.mktemp("tls")),
            _upgraded,
            _rebooted,
            _removed,
        ):
            chapter(machines)
    return found


def _installed(of: Machines) -> None:
    of.note("install", "dpkg -i /root/ioplateau.deb; echo code $?")
    of.note("state", "systemctl is-active ioplateau; systemctl is-enabled ioplateau")
    of.note("user", "stat -c '%u' /proc/$(systemctl show -P MainPID ioplateau)")
    of.note("passwd", "cat /etc/passwd")
    of.until_mounted("installed", "/home/nfs")
    of.note("security", "systemd-analyze security --no-pager ioplateau")


def _a_mount_is_made_later(of: Machines) -> None:
    mount_nfs(of.guest, of.server, "/export/later", "/home/later")
    of.until_mounted("later", "/home/later")
    for _ in range(30):  # its connections come by netlink, from a library that is imported then
        if sum(of.scrape("sockets").values("ioplateau_nfs_tcp_sockets")) >= 2:
            return
        time.sleep(1)


def _confined(of: Machines) -> None:
    """A program with the unit's own lines in the daemon's place."""
    places = [("10.77.0.1", 22), ("127.0.0.1", 22), ("169.254.169.254", 80)]
    program = KNOCK.format(places=places)
    of.guest.run(
        f"cat >/opt/knock.py <<'END'\n{program}\nEND\n"
        "ip addr add 169.254.169.254/32 dev lo"
        " && systemd-run --quiet python3 -m http.server 80 --bind 169.254.169.254"
        # An emulated Python takes seconds to start on a busy machine.
        " && curl --silent --output /dev/null --retry 30 --retry-connrefused http://169.254.169.254/"
    )
    unit = "/usr/lib/systemd/system/ioplateau.service"
    of.note(
        "knock",
        "sed -e 's#^ExecStart=.*#ExecStart=/usr/bin/python3 /opt/knock.py#; s/^Type=.*/Type=oneshot/'"
        " -e '/^Restart/d; /^Watchdog/d; /^StateDir/d; /^User=/d; /ioplateau.socket/d'"
        f" {unit} >/run/systemd/system/knock.service"
        " && systemctl daemon-reload && systemctl start knock"
        " && journalctl -u knock -o cat --no-pager",
    )
    # The drop-in for EBS, likewise: an admin command of NVMe must come as far as the device.
    of.guest.run(
        'printf \'import sys\\nsys.path.insert(0, "/usr/lib/ioplateau")\\n'
        'from ioplateau.measure import ebs\\nebs.read("/dev/nvme0")\\n\' >/opt/ebs.py'
    )
    units = "/run/systemd/system"
    for unit in ("ebs-without", "ebs-with"):
        drop_in = f"cp /usr/share/ioplateau/ebs.conf {units}/{unit}.service.d/"
        of.note(
            unit,
            f"mkdir {units}/{unit}.service.d"
            f" && sed 's#knock.py#ebs.py#' {units}/knock.service >{units}/{unit}.service"
            f" && {drop_in if unit == 'ebs-with' else 'true'} && systemctl daemon-reload"
            f"; systemctl start {unit}; journalctl -u {unit} -o cat --no-pager",
        )


def _in_a_container(of: Machines) -> None:
    """Own mounts without NFS, no capability, and the machine's /proc elsewhere, as in a pod."""
    inside = (
        "mkdir -p /tmp/host/proc && mount --rbind /proc /tmp/host/proc && umount /home/later /home/nfs"
        " && grep -c nfs4 /proc/self/mountstats;"
        " setpriv --bounding-set=-all --inh-caps=-all --no-new-privs"
        " ioplateau doctor --path.procfs=/tmp/host/proc"
    )
    of.note("container", f"unshare --mount --propagation private sh -c '{inside}'")


def _the_server_dies(of: Machines) -> None:
    time.sleep(3)  # what the client cached of the mount's root is stale now (actimeo=1)
    with of.server.frozen():
        of.note("restart without server", "timeout 60 systemctl restart ioplateau; echo code $?")
        of.note("health without server", "curl -s -m 10 localhost:10049/-/ready")


def _hung(of: Machines) -> None:
    of.guest.run("kill -STOP $(systemctl show -P MainPID ioplateau)")
    of.until_running(restarts=1)
    of.note("hung", "journalctl -u ioplateau -o cat --no-pager | tail -n 40")
    of.note("after hung", "systemctl is-active ioplateau; ls -l /var/lib/private/ioplateau")


def _configured(of: Machines) -> None:
    limit = '[[limit]]\\ndisk = "nvme0n1"\\niops = 777\\n'
    file = "/etc/ioplateau/ioplateau.toml"
    of.guest.run(
        f"printf '{limit}' >>{file} && systemctl reload ioplateau && for _ in $(seq 60);"
        f" do curl -s -m 10 127.0.0.1:{PORT}/metrics | grep -q ' 777' && break; sleep 1; done"
    )
    of.scrape("reloaded")
    of.note("broken", f"cp {file} /root/good && echo 'nonsense = 1' >>{file}"
            " && systemctl reload ioplateau; sleep 4; journalctl -u ioplateau -o cat | tail -n 4")  # fmt: skip
    of.scrape("broken")
    of.note("broken start", f"systemctl restart ioplateau; echo code $?; cp /root/good {file};"
            " journalctl -u ioplateau -o cat | tail -n 12")  # fmt: skip
    of.until_running()
    of.note("mended", "systemctl is-active ioplateau")
    off = "sysctl -q -w net.ipv6.conf.all.disable_ipv6"
    of.note(
        "no ipv6",
        f"{off}=1; systemctl restart ioplateau; curl -s -m 10 127.0.0.1:{PORT}/-/ready; {off}=0",
    )


def _closed(of: Machines, place: Path) -> None:
    """TLS and passwords by the drop-in, as its own comment says; Prometheus comes from outside."""
    _certificate(place)
    config = place / "prometheus.yml"
    config.write_text(PROMETHEUS.format(
        port=of.guest.port(PORT), user=USER, password=PASSWORD, ca=place / "tls.crt"
    ))  # fmt: skip
    with _prometheus(config, place) as asked:
        of.life.targets["open"] = _health(asked, "open")
        for file in ("tls.crt", "tls.key", "web-config.yml"):
            of.guest.put(place / file, f"/etc/ioplateau/{file}")
        of.note(
            "tls",
            "groupadd --system ioplateau-tls"
            " && cd /etc/ioplateau && chgrp ioplateau-tls web-config.yml tls.key"
            " && chmod 640 web-config.yml tls.key"
            " && install -D -m 644 /usr/share/ioplateau/tls.conf"
            " /etc/systemd/system/ioplateau.service.d/tls.conf"
            " && systemctl daemon-reload && systemctl restart ioplateau"
            "; systemctl is-active ioplateau; journalctl -u ioplateau -o cat | tail -n 5",
        )
        of.life.targets["closed"] = _health(asked, "closed")
    of.guest.run(
        "rm -r /etc/systemd/system/ioplateau.service.d && systemctl daemon-reload"
        " && systemctl restart ioplateau"
    )


def _upgraded(of: Machines) -> None:
    of.note("state before", "cat /var/lib/private/ioplateau/state.json")
    of.note(
        "upgrade",
        "cd /tmp && dpkg-deb -R /root/ioplateau.deb newer"
        " && sed -i 's/^Version: .*/Version: 999.0/' newer/DEBIAN/control"
        " && echo '# the package has a new default' >>newer/etc/ioplateau/ioplateau.toml"
        " && dpkg-deb --root-owner-group -b newer newer.deb >/dev/null"
        " && dpkg --force-confold -i newer.deb; echo code $?",
    )
    of.note("upgraded", "dpkg-query -W ioplateau; systemctl is-active ioplateau;"
            " cat /etc/ioplateau/ioplateau.toml; journalctl -u ioplateau -o cat | tail -n 6")  # fmt: skip
    of.scrape("upgraded")


def _rebooted(of: Machines) -> None:
    # A client that waits for its server to unmount is another story.
    of.guest.run("umount -l /home/nfs /home/later; sync")
    of.guest.power_cycle()
    of.until_running()
    of.note("rebooted", "systemctl is-active ioplateau; journalctl -b -u ioplateau -o cat")
    of.scrape("rebooted")


def _removed(of: Machines) -> None:
    places = (
        "/usr/lib/ioplateau /usr/bin/ioplateau /etc/ioplateau /var/lib/ioplateau"
        " /var/lib/private/ioplateau /etc/systemd/system/*.wants/ioplateau*"
    )
    left = f"ls -d {places} 2>/dev/null"
    of.note(
        "remove", "dpkg -r ioplateau; echo code $?; systemctl is-active ioplateau ioplateau.socket"
    )
    of.note("left after removal", left)
    of.note("purge", "rm -f /etc/ioplateau/tls.* /etc/ioplateau/web-config.yml; dpkg -P ioplateau")
    of.note("left after purge", left)
    of.note("failed units", "systemctl --failed --no-legend --plain | grep ioplateau")


def _certificate(place: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=guest", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", place / "tls.key", "-out", place / "tls.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    # The least cost there is: an emulated CPU computes it.
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    (place / "web-config.yml").write_text(
        "tls_server_config: {cert_file: tls.crt, key_file: tls.key}\n"
        f'basic_auth_users: {{{USER}: "{hashed}"}}\n'
    )


@contextlib.contextmanager
def _prometheus(config: Path, place: Path) -> Iterator[str]:
    """A real Prometheus on this machine; its address."""
    address = f"127.0.0.1:{free_port()}"
    with (place / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={place}/tsdb",
             f"--web.listen-address={address}"],
            stdout=log, stderr=log,
        )  # fmt: skip
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait()


def _health(asked: str, wanted: str) -> dict[str, str]:
    """Each job's health once `wanted` is up and every other was asked; after a minute at latest."""
    deadline = time.monotonic() + 60
    health: dict[str, str] = {}
    while time.monotonic() < deadline and (
        health.get(wanted) != "up" or "unknown" in health.values()
    ):
        time.sleep(2)
        with contextlib.suppress(OSError):
            answer = urllib.request.urlopen(f"{asked}/api/v1/targets", timeout=5)
            targets = json.load(answer)["data"]["activeTargets"]
            health = {each["labels"]["job"]: each["health"] for each in targets}
    time.sleep(3)  # the other job has been scraped since, too
    answer = urllib.request.urlopen(f"{asked}/api/v1/targets", timeout=5)
    targets = json.load(answer)["data"]["activeTargets"]
    return {each["labels"]["job"]: each["health"] for each in targets}


def test_installing_the_deb_enables_and_starts_the_service(life: Life):
    assert life.said["install"].endswith("code 0\n")
    assert life.said["state"].split() == ["active", "enabled"]


def test_it_runs_as_nobodys_account(life: Life):
    dynamic_users = range(61184, 65520)  # systemd.io/UIDS-GIDS

    assert int(life.said["user"]) in dynamic_users
    assert "ioplateau" not in life.said["passwd"]


def test_its_exposure_is_small(life: Life):
    (exposure,) = re.findall(
        r"exposure level for ioplateau.service: ([\d.]+)", life.said["security"]
    )
    print(f"systemd-analyze security: {exposure}")

    assert float(exposure) <= MOST_EXPOSURE


def test_an_nfs_home_is_seen(life: Life):
    assert "/home/nfs" in mounts_of(life.scraped["installed"])


def test_a_mount_made_after_the_start_is_seen_with_its_connections(life: Life):
    assert {"/home/nfs", "/home/later"} <= mounts_of(life.scraped["later"])
    assert sum(life.scraped["sockets"].values("ioplateau_nfs_tcp_sockets")) >= 2


def test_no_source_is_lost_to_the_sandbox(life: Life):
    now = life.scraped["sockets"]

    down = [found["source"] for found in now.labels("ioplateau_source_up")
            if now.value("ioplateau_source_up", **found) != 1]  # fmt: skip
    assert down == []


def test_it_reaches_the_metadata_service_and_nothing_else(life: Life):
    lines = (line.split() for line in life.said["knock"].splitlines() if line.count(".") == 3)
    reached = dict(words for words in lines if len(words) == 2)  # the kernel's own may be between

    assert reached == {
        "10.77.0.1": "denied",
        "127.0.0.1": "denied",
        "169.254.169.254": "reached",
    }


def test_the_drop_in_for_ebs_opens_the_disks_admin_commands_and_nothing_less_does(life: Life):
    assert "No such file or directory: '/dev/nvme0'" in life.said["ebs-without"]
    assert "NVMe status" in life.said["ebs-with"]  # QEMU's device has no such page, and says so


def test_in_a_container_the_machines_mounts_are_seen_without_a_capability(life: Life):
    own, _, seen = life.said["container"].partition("\n")

    assert own == "0"
    assert "10.77.0.1 (NFSv4.1)" in seen


def test_a_dead_nfs_server_does_not_keep_it_from_starting(life: Life):
    assert life.said["restart without server"] == "code 0\n"
    assert life.said["health without server"] == "ioplateau is ready.\n"


def test_the_watchdog_restarts_a_hung_daemon(life: Life):
    assert "Failed with result 'watchdog'" in life.said["hung"]
    assert life.said["after hung"].startswith("active")


def test_its_state_outlives_a_kill(life: Life):
    assert "state.json" in life.said["after hung"]


def test_a_reload_takes_a_new_limit(life: Life):
    limits = life.scraped["reloaded"].values("ioplateau_budget_limit_operations_per_second")

    assert 777 in limits


def test_a_broken_configuration_is_not_taken_and_said(life: Life):
    limits = life.scraped["broken"].values("ioplateau_budget_limit_operations_per_second")

    assert "nonsense" in life.said["broken"]
    assert 777 in limits


def test_a_start_with_a_broken_configuration_fails_and_goes_on_trying(life: Life):
    assert "code 1" in life.said["broken start"]
    assert "nonsense" in life.said["broken start"]
    assert life.said["mended"] == "active\n"


def test_it_is_scraped_by_ipv4_where_ipv6_is_switched_off(life: Life):
    assert life.said["no ipv6"] == "ioplateau is ready.\n"


def test_a_real_prometheus_scrapes_it_from_outside(life: Life):
    assert life.targets["open"] == {"open": "up", "closed": "down"}


def test_with_the_drop_in_for_tls_only_a_prometheus_with_the_password_gets_in(life: Life):
    assert life.targets["closed"] == {"open": "down", "closed": "up"}, life.said["tls"]


def test_an_upgrade_keeps_state_and_configuration(life: Life):
    assert life.said["upgrade"].endswith("code 0\n")
    assert "999.0" in life.said["upgraded"]
    assert "active" in life.said["upgraded"]
    assert "777" in life.said["upgraded"]
    assert "state restored" in life.said["upgraded"]
    assert json.loads(life.said["state before"])["format"] >= 1
    assert life.scraped["upgraded"].value("ioplateau_ticks_total") > 0


def test_it_is_there_again_after_a_reboot(life: Life):
    assert life.said["rebooted"].startswith("active")
    assert "state restored" in life.said["rebooted"]
    assert life.scraped["rebooted"].value("ioplateau_ticks_total") > 0


def test_a_removal_leaves_state_and_configuration_alone(life: Life):
    left = life.said["left after removal"].split()

    assert "code 0" in life.said["remove"]
    assert life.said["remove"].split()[-2:] == ["inactive", "inactive"]
    assert {"/etc/ioplateau", "/var/lib/private/ioplateau"} <= set(left)
    assert not {"/usr/lib/ioplateau", "/usr/bin/ioplateau"} & set(left)


def test_a_purge_leaves_nothing(life: Life):
    assert life.said["left after purge"] == ""
    assert life.said["failed units"] == ""


def test_the_socket_can_be_had_from_systemd_alone(tmp_path):
    port = free_port()
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            ["systemd-socket-activate", "-l", f"127.0.0.1:{port}", IOPLATEAU, "serve",
             "--web.systemd-socket", "--no-cloud"],
            stdout=log, stderr=log,
        )  # fmt: skip
    try:
        found = _first_scrape(f"http://127.0.0.1:{port}/metrics")
    finally:
        process.terminate()
        process.wait()

    assert found.value("ioplateau_ticks_total") > 0


def _first_scrape(url: str) -> Exposition:
    for _ in range(40):
        with contextlib.suppress(OSError, LookupError):
            found = urllib.request.urlopen(url, timeout=5).read().decode()
            if found.strip():
                return read_exposition(found)
        time.sleep(0.5)
    raise TimeoutError(url)
