"""What build.sh makes: the same bytes each time, and packages that dpkg and rpm agree with.

The rpm is installed by rpm itself, into the guest's Debian as an rpm-based root: no registry here
has a Red Hat or SUSE system. What that leaves open is named in docs/install.md. Needs root, uv
and the Debian package rpm, and what guests/build.sh names.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from built_packages import PROJECT, build, one, packages
from guests.guest import image

pytestmark = [pytest.mark.live, pytest.mark.timeout(1200)]

ARCHITECTURES = ("amd64", "arm64")
RPM_ARCHITECTURES = ("x86_64", "aarch64")


def said(*command) -> str:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout


def files_of_deb(architecture: str) -> dict[str, str]:
    """Path -> mode and owner."""
    lines = said("dpkg-deb", "--contents", one(f"*_{architecture}.deb")).splitlines()
    return {line.split()[5].lstrip("."): " ".join(line.split()[:2]) for line in lines}


def test_a_second_build_gives_the_same_bytes(tmp_path):
    first = packages()
    # Elsewhere, later, and by somebody with other settings, in whose cache of uv all is theirs alone.
    (tmp_path / "elsewhere").mkdir()
    cache = {"UV_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run(
        ["uv", "sync", "--quiet", "--frozen", "--no-dev", "--extra=web", "--no-install-project"],
        cwd=PROJECT,
        env={**os.environ, **cache, "UV_PROJECT_ENVIRONMENT": str(tmp_path / "environment")},
        umask=0o077,
        check=True,
    )
    settings = {"TMPDIR": str(tmp_path / "elsewhere"), "LANG": "tr_TR.UTF-8"}
    build(tmp_path / "again", settings | cache)
    sums = {
        place: {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in place.iterdir()
        }
        for place in (first, tmp_path / "again")
    }

    assert len(sums[first]) == 10
    assert sums[first] == sums[tmp_path / "again"]


def test_every_file_has_its_checksum():
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=packages(), capture_output=True
    )
    listed = {line.split()[1] for line in (packages() / "SHA256SUMS").read_text().splitlines()}

    assert done.returncode == 0, done.stdout
    assert listed == {file.name for file in packages().iterdir()} - {"SHA256SUMS"}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_deb_stays_in_its_own_places(architecture):
    files = files_of_deb(architecture)
    own = re.compile(
        r"/(usr/lib/ioplateau/.*|usr/share/ioplateau/.*|usr/share/doc/ioplateau/.*|usr/bin/ioplateau"
        r"|usr/share/man/man1/ioplateau\.1|usr/share/bash-completion/completions/ioplateau"
        r"|usr/lib/systemd/system/ioplateau\.(service|socket)|etc/ioplateau/.*|etc/default/ioplateau)"
    )

    assert [path for path in files if not path.endswith("/") and not own.fullmatch(path)] == []
    assert {about.split()[1] for about in files.values()} == {"root/root"}
    assert not [path for path, about in files.items() if about[8] == "w" and about[0] != "l"]
    assert not [path for path, about in files.items() if about[7] != "r"]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_is_compiled_fits_every_python_and_no_other_machine(architecture):
    compiled = [path for path in files_of_deb(architecture) if path.endswith(".so")]

    assert {path.rsplit("/", 1)[1] for path in compiled} == {
        "_psutil_linux.abi3.so",
        "_bcrypt.abi3.so",
        "_scan.abi3.so",
        "_samples.abi3.so",
    }


def test_the_deb_names_its_python_and_its_configuration():
    deb = one("*_amd64.deb")
    control = said("dpkg-deb", "--field", deb)
    configuration = said("dpkg-deb", "--info", deb, "conffiles").split()

    assert "python3 (>= 3.11) | python3.11" in control
    assert configuration == ["/etc/default/ioplateau", "/etc/ioplateau/ioplateau.toml"]
    assert said("dpkg-deb", "--info", deb, "triggers") == "interest-noawait /usr/bin/python3\n"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_deb_brings_the_documents_the_rules_and_the_boards(architecture):
    place = "/usr/share/doc/ioplateau/"
    there = {
        path.removeprefix(place) for path in files_of_deb(architecture) if path.startswith(place)
    }
    ours = {
        str(file.relative_to(PROJECT))
        for pattern in ("*.md", "docs/**/*.md", "docs/*.toml", "alerts/*.yml", "dashboards/*.json")
        for file in PROJECT.glob(pattern)
    }

    assert ours - {"CONTRIBUTING.md"} <= there


@pytest.mark.parametrize("architecture", RPM_ARCHITECTURES)
def test_rpm_reads_what_the_rpm_needs_and_keeps(architecture):
    package = one(f"*.{architecture}.rpm")
    needs = said("rpm", "--query", "--package", "--requires", package)
    flags = said("rpm", "-qp", "--queryformat", r"[%{FILENAMES} %{FILEFLAGS:fflags}\n]", package)
    configuration = [line for line in flags.splitlines() if re.search(" .*c", line)]

    assert "(/usr/bin/python3.11 or " in needs
    assert configuration == [
        "/etc/default/ioplateau cn",  # config, noreplace
        "/etc/ioplateau/ioplateau.toml cn",
    ]
    assert said("rpm", "--checksig", "--nosignature", package).strip().endswith("OK")


def test_the_rpm_holds_what_the_deb_holds():
    listed = said("rpm", "-qpl", one("*.x86_64.rpm")).split()
    deb = {path for path in files_of_deb("amd64") if not path.endswith("/")}
    of_their_own = re.compile(r"/usr/share/(doc|licenses)/.*")
    rpm = {path for path in listed if not of_their_own.match(path)}

    assert {path for path in deb if not of_their_own.match(path)} <= rpm


@pytest.fixture
def root(tmp_path) -> Iterator[Path]:
    """A system to install into: the guest's, with what is written to it kept apart."""
    lower, upper, merged = (tmp_path / name for name in ("lower", "upper", "merged"))
    for place in (lower, upper, merged):
        place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", upper], check=True)
    (upper / "files").mkdir()
    (upper / "work").mkdir()
    try:
        _mount(image() / "root.ext4", lower, upper, merged)
        yield merged
    finally:
        for place in (merged / "proc", merged / "dev", merged / "sys", merged, lower, upper):
            subprocess.run(["umount", "--recursive", place], capture_output=True)
        shutil.rmtree(merged, ignore_errors=True)


def _mount(source: Path, lower: Path, upper: Path, merged: Path) -> None:
    subprocess.run(["mount", "-o", "ro,loop,noload", source, lower], check=True)
    layers = f"lowerdir={lower},upperdir={upper}/files,workdir={upper}/work"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, merged], check=True)
    subprocess.run(["mount", "-t", "proc", "proc", merged / "proc"], check=True)
    # Without /sys nobody knows what the disks are, and doctor says so.
    for place in ("dev", "sys"):
        subprocess.run(["mount", "--bind", f"/{place}", merged / place], check=True)


def test_rpm_installs_runs_upgrades_and_removes_it(root):
    package = one("*.x86_64.rpm")
    # The root's own packages are Debian's, of which rpm knows nothing: hence --nodeps.
    rpm = ["rpm", "--root", root, "--nodeps"]
    installed = said(*rpm, "--install", package)
    version = said("chroot", root, "ioplateau", "--version")
    doctor = said("chroot", root, "ioplateau", "doctor", "--no-cloud")
    verified = subprocess.run([*rpm, "--verify", "ioplateau"], capture_output=True, text=True)
    enabled = said("chroot", root, "systemctl", "is-enabled", "ioplateau.service")
    configuration = root / "etc/ioplateau/ioplateau.toml"
    configuration.write_text("# mine\n")
    said(*rpm, "--upgrade", "--force", package)
    kept = configuration.read_text()
    said(*rpm, "--erase", "ioplateau")

    assert installed == ""
    assert version.startswith("ioplateau ")
    assert "native scan" in version
    assert "/proc/diskstats" in doctor
    assert [line for line in verified.stdout.splitlines() if "missing" in line] == []
    assert enabled == "enabled\n"
    assert kept == "# mine\n"
    assert not (root / "usr/lib/ioplateau").exists()
    assert not (root / "etc/systemd/system/multi-user.target.wants/ioplateau.service").exists()


def test_the_wheel_installs_without_the_network():
    (metadata,) = (
        name for name in zipfile.ZipFile(one("*-any.whl")).namelist() if name.endswith("METADATA")
    )
    words = zipfile.ZipFile(one("*-any.whl")).read(metadata).decode()

    assert "Requires-Python: >=3.11" in words
    assert "Provides-Extra: web" in words


def test_the_bill_of_materials_names_what_is_in_the_package():
    bill = json.loads(one("*.cdx.json").read_text())
    listed = {(part["name"], part["version"]) for part in bill["components"]}
    found = {
        tuple(re.fullmatch(r".*/([^/]+)-([^-/]+)\.dist-info/METADATA", path).groups())
        for path in files_of_deb("amd64")
        if path.endswith(".dist-info/METADATA")
    }
    own = bill["metadata"]["component"]

    assert {(name.replace("-", "_").lower(), version) for name, version in listed} == {
        (name.lower(), version) for name, version in found if name != "ioplateau"
    }
    assert (own["name"], own["version"]) in found


def test_the_service_of_the_package_is_the_one_in_the_repository(tmp_path):
    said("dpkg-deb", "--extract", one("*_amd64.deb"), tmp_path)

    for unit in ("ioplateau.service", "ioplateau.socket"):
        packed = (tmp_path / "usr/lib/systemd/system" / unit).read_text()
        assert packed == (PROJECT / "deploy/systemd" / unit).read_text()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_deb_has_every_drop_in_of_the_service(architecture):
    drop_ins = {file.name for file in (PROJECT / "deploy" / "systemd").glob("*.conf")}
    there = {Path(path).name for path in files_of_deb(architecture) if "/share/ioplateau/" in path}

    assert drop_ins
    assert drop_ins <= there
