"""Real Linux machines for tests: QEMU guests with systemd, NFS and disks behind real throttles.

    link = Link()
    server = Guest("server", number=1, link=link)
    client = Guest("client", number=2, link=link, ports=(10049,), disks=[Disk(Throttle(iops=500))])
    with booted(server, client):
        client.run("systemctl is-system-running")        # by ssh, as root
        client.put(directory, "/opt/ioplateau")
        urlopen(f"http://127.0.0.1:{client.port(10049)}/metrics")
        with server.frozen():                            # CPUs stand still, connections stay
            time.sleep(15)

The CPU is emulated, so every machine can run this: a boot takes 20 to 40 s. Nothing that a guest
writes is kept, and it ends with the thread that started it, also if that is killed.

Needs the Debian packages qemu-system-x86, openssh-client, util-linux and those of build.sh, and root
for the first build. Guests reach each other by their link, and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from guests.disks import Disk, Throttle, disk_arguments
from guests.qmp import Qmp

ACCELERATOR = os.environ.get("IOPLATEAU_GUESTS_ACCEL", "tcg,thread=multi")
# No "aes": the kernel's self-test of aesni_intel crashes in an emulated CPU without AVX.
EMULATED_CPU = "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+rdrand"
# What a host shows that is four times slower than usual; usual is 20 to 40 s.
BOOT_SECONDS = 600.0
# Longer than the longest, dpkg's 46 s where it had half a CPU, on such a host too.
COMMAND_SECONDS = 300.0
# Of the host's own: "Detected 2596.124 MHz processor", and later "Refined TSC clocksource calibration: ..."
HOST_CLOCK = re.compile(r"tsc: (?:Detected|Refined TSC clocksource calibration:) ([0-9.]+) MHz")


class Link:
    """A cable between two guests: no ports, no order of start, gone with them."""

    def __init__(self) -> None:
        self.ends = list(socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM))


@cache
def image() -> Path:
    """The directory of the guest's kernel and root image, built now if it is not there."""
    script = Path(__file__).with_name("build.sh")
    built = subprocess.run([script], stdout=subprocess.PIPE, text=True, check=True)
    return Path(built.stdout.splitlines()[-1])


@cache
def clock() -> str:
    """What tells the guest's kernel how fast the clock of its emulated CPU is, which is this machine's.

    On a slow host the kernel's own measurement came out ten times too low: the guest's seconds were a
    tenth of ours, and its units ran into their time-outs.
    """
    if not ACCELERATOR.startswith("tcg"):
        return ""
    told = subprocess.run(["dmesg"], stdout=subprocess.PIPE, text=True, check=False).stdout
    found = HOST_CLOCK.findall(told)
    return f"tsc_early_khz={round(float(found[-1]) * 1000)} " if found else ""


class Guest:
    """One guest. `number` (1 to 8) is its place on the link: 10.77.0.<number>, host name guest<number>.

    `ports` are TCP ports of the guest that this machine can reach at 127.0.0.1:port(…).
    `urgent`: it goes before what else this machine does, where rates are what a test is about: an
    emulated CPU that waits for a real one shows its host's load instead of a limit.
    """

    def __init__(
        self,
        name: str,
        *,
        number: int = 1,
        link: Link | None = None,
        ports: Sequence[int] = (),
        disks: Sequence[Disk] = (),
        vm_throttle: Throttle | None = None,
        memory_mib: int = 768,
        cpus: int = 1,
        urgent: bool = False,
    ) -> None:
        self.name, self.number, self.link = name, number, link
        self.ports, self.disks, self.vm_throttle = tuple(ports), tuple(disks), vm_throttle
        self.memory_mib, self.cpus = memory_mib, cpus
        self.urgent = urgent
        self.address = f"10.77.0.{number}"
        self._login: subprocess.Popen[bytes] | None = None
        self._cleanup = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Start it; it is booting: see wait_until_up."""
        _require("qemu-system-x86_64", "qemu-system-x86")
        _require("ssh", "openssh-client")
        _require("setpriv", "util-linux")
        self._image = image()
        with contextlib.ExitStack() as cleanup:
            # Not under the image: a socket's path must stay below 108 bytes.
            self._directory = Path(
                cleanup.enter_context(tempfile.TemporaryDirectory(prefix=f"guest-{self.name}-"))
            )
            self._process = self._start()
            cleanup.callback(self._stop)
            self._qmp = Qmp(self._directory / "qmp", self._process)
            cleanup.callback(self._qmp.close)
            self._host_ports = self._qmp.forwarded_ports()
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cleanup.close()

    def wait_until_up(self, seconds: float = BOOT_SECONDS) -> None:
        """Until ssh lets us in. Raises RuntimeError with the console's end if it never does."""
        deadline = time.monotonic() + seconds
        while self._process.poll() is None and time.monotonic() < deadline:
            if self._log_in():
                return
            time.sleep(0.5)
        console = (self._directory / "console").read_text(errors="replace")
        qemu = (self._directory / "qemu").read_text(errors="replace")
        raise RuntimeError(f"{self.name} is not up: {qemu}\n{console[-3000:]}")

    def run(self, command: str, *, check: bool = True, timeout: float = COMMAND_SECONDS) -> str:
        """Run a shell command as root; its output, errors included."""
        done = self._ssh(command, timeout=timeout)
        if check and done.returncode != 0:
            raise RuntimeError(f"{self.name}: {command!r}: {done.returncode}: {done.stdout}")
        return done.stdout

    def start(self, command: str) -> subprocess.Popen[str]:
        """Start a shell command as root; ends with the guest at the latest."""
        process = subprocess.Popen(
            self._ssh_command(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._cleanup.callback(process.kill)
        return process

    def put(self, source: Path, target: str) -> None:
        """Copy a file to `target`, or what is in a directory into it. Owned by root."""
        into = shlex.quote(target)
        if not source.is_dir():
            with source.open("rb") as file:
                subprocess.run(self._ssh_command(f"cat >{into}"), stdin=file, check=True)
            return
        receive = self._ssh_command(f"mkdir -p {into} && tar -C {into} --no-same-owner -xf -")
        with (
            subprocess.Popen(receive, stdin=subprocess.PIPE) as tar,
            tarfile.open(fileobj=tar.stdin, mode="w|") as archive,
        ):
            archive.add(source, arcname=".")
        if tar.returncode != 0:
            raise RuntimeError(f"{self.name}: cannot copy {source} to {target}")

    def get(self, source: str, target: Path) -> None:
        """Copy a file of the guest to `target`."""
        with target.open("wb") as file:
            command = self._ssh_command(f"cat {shlex.quote(source)}")
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, check=True)

    def port(self, guest_port: int) -> int:
        """Where 127.0.0.1 of this machine leads to `guest_port`, one of `ports`."""
        return self._host_ports[guest_port]

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Its CPUs stand still; from outside, a machine that stopped answering."""
        self._qmp.execute("stop")
        try:
            yield
        finally:
            self._qmp.execute("cont")

    def set_throttle(self, disk: int | None, throttle: Throttle) -> None:
        """Change the limits of a disk (its LUN) or of the VM (None) while the guest runs."""
        group = "vm" if disk is None else f"disk{disk}"
        self._qmp.execute(
            "qom-set", path=f"/objects/{group}", property="limits", value=throttle.all_limits()
        )

    def _start(self) -> subprocess.Popen[bytes]:
        with contextlib.ExitStack() as ours, (self._directory / "qemu").open("wb") as log:
            end = ours.enter_context(self.link.ends.pop()) if self.link else None
            disks = disk_arguments(self.disks, self.vm_throttle)
            arguments = [*self._machine(), *self._network(end), *disks]
            first = ["nice", "-n", "-10"] if self.urgent else []
            process = subprocess.Popen(
                [*first, "setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[end.fileno()] if end else [],
                env={**os.environ, "TMPDIR": str(self._image)},  # what it writes, unlinked
                start_new_session=self.urgent,
            )
        if self.urgent:
            with contextlib.suppress(OSError):  # a session's share of the CPU, see sched(7)
                Path(f"/proc/{process.pid}/autogroup").write_text("-10")
        return process

    def _machine(self) -> list[str]:
        kernel = (
            "root=/dev/nvme0n1 rw console=ttyS0 net.ifnames=0 mitigations=off nokaslr "
            "no_timer_check "  # on a busy host an emulated timer fails the kernel's test of it
            f"random.trust_cpu=on tsc=reliable {clock()}quiet systemd.show_status=0 "
            f"systemd.default_timeout_start_sec={BOOT_SECONDS:g} "
            f"systemd.hostname={self.name}"
        )
        return [
            *("-nodefaults", "-no-user-config", "-display", "none"),
            "-no-reboot",
            *("-accel", ACCELERATOR),
            *("-cpu", EMULATED_CPU if ACCELERATOR.startswith("tcg") else "host"),
            *("-smp", str(self.cpus), "-m", str(self.memory_mib)),
            *("-serial", f"file:{self._directory}/console"),
            *("-qmp", f"unix:{self._directory}/qmp,server=on,wait=off"),
            *("-kernel", f"{self._image}/kernel", "-append", kernel),
            *("-drive", f"if=none,id=root,format=raw,snapshot=on,file={self._image}/root.ext4"),
            *("-device", "nvme,drive=root,serial=root", "-device", "virtio-rng-pci"),
        ]

    def _network(self, end: socket.socket | None) -> list[str]:
        # Port 0: the kernel picks a free one, and QEMU tells which.
        forward = "".join(f",hostfwd=tcp:127.0.0.1:0-:{port}" for port in (22, *self.ports))
        arguments = [
            *("-netdev", f"user,id=host,restrict=on{forward}"),
            *("-device", "virtio-net-pci,netdev=host,romfile=,mac=52:54:00:10:00:01"),
        ]
        if end:
            mac = f"52:54:00:77:00:{self.number:02x}"
            arguments += [
                *("-netdev", f"socket,id=link,fd={end.fileno()}"),
                *("-device", f"virtio-net-pci,netdev=link,romfile=,mac={mac}"),
            ]
        return arguments

    def _log_in(self) -> bool:
        """One login, which every command then shares: it costs seconds in an emulated CPU."""
        self._log_out()
        self._login = subprocess.Popen(
            [*self._ssh_options(), "-M", "-N", "root@127.0.0.1"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(100):
            if (self._directory / "ssh").exists():
                return True
            if self._login.poll() is not None:
                return False
            time.sleep(0.2)
        return False

    def _log_out(self) -> None:
        if self._login:
            self._login.kill()
            self._login.wait()
            (self._directory / "ssh").unlink(missing_ok=True)

    def _ssh_options(self) -> list[str]:
        options = {
            "StrictHostKeyChecking": "no",
            "UserKnownHostsFile": "/dev/null",
            "ConnectTimeout": "10",
            "ServerAliveInterval": "15",
            "ServerAliveCountMax": "20",
            "ControlPath": f"{self._directory}/ssh",
        }
        given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        key, port = str(self._image / "ssh_key"), str(self.port(22))
        return ["ssh", "-q", "-F", "/dev/null", *given, "-i", key, "-p", port]

    def _ssh_command(self, command: str) -> list[str]:
        return [*self._ssh_options(), "root@127.0.0.1", command]

    def _ssh(self, command: str, *, timeout: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._ssh_command(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=timeout,
        )

    def _stop(self) -> None:
        # Nothing a guest wrote is kept, so there is nothing it could lose by being switched off.
        self._log_out()
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def booted(*guests: Guest) -> Iterator[None]:
    """Boot guests side by side, and end them together."""
    with contextlib.ExitStack() as running:
        for guest in guests:
            running.enter_context(guest)
        for guest in guests:
            guest.wait_until_up()
        yield


def _require(tool: str, package: str) -> None:
    if shutil.which(tool) is None:
        raise RuntimeError(f"{tool} is missing: apt-get install {package}")
