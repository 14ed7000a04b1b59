#!/bin/bash
# Builds the guest that the tests boot: a Debian with systemd, NFS (server and client), fio and
# Python as a raw ext4 image, and the kernel that boots it from NVMe without an initramfs.
# Prints the directory that holds them as its last line:
#
#   kernel  root.ext4  ssh_key  packages.txt
#
# Built once (about two minutes), then kept under $IOPLATEAU_GUESTS (/var/tmp/ioplateau-guests), in a
# directory named after this script's hash, the suite and the mirror: a change here is a new guest.
#
# Needs root and the Debian packages debootstrap, e2fsprogs, openssh-client, apt and about 3 GB.
# Takes everything from the Debian mirror that this machine's apt is configured for; on a machine
# that is no Debian, name one in IOPLATEAU_GUESTS_MIRROR.
set -euo pipefail
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"

die() { echo "build.sh: $*" >&2; exit 1; }

suite=bookworm
packages=(
    linux-image-cloud-amd64 # NVMe, PCI and ext4 are built in, so no initramfs is needed
    systemd systemd-sysv dbus udev kmod adduser netbase ca-certificates
    openssh-server curl procps iproute2
    nfs-common nfs-kernel-server
    fio sysstat e2fsprogs
    python3 python3-venv
)
links=8 # addresses prepared on the link between guests, see guest.py

[ "$(id -u)" = 0 ] || die "debootstrap needs root"
for tool in debootstrap mkfs.ext4 ssh-keygen; do
    command -v $tool >/dev/null || die "$tool is missing: apt-get install debootstrap e2fsprogs openssh-client"
done

mirror=${IOPLATEAU_GUESTS_MIRROR:-}
if [ -z "$mirror" ] && command -v apt-get >/dev/null; then
    mirror=$(apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sed -n 1p)
fi
[ -n "$mirror" ] || die "apt knows no Debian mirror here: name one in IOPLATEAU_GUESTS_MIRROR"

cache=${IOPLATEAU_GUESTS:-/var/tmp/ioplateau-guests}
key=$( { cat "$0"; echo "$suite $mirror"; } | sha256sum | cut -c 1-16)
guest=$cache/$key
mkdir -p "$cache/debs"
exec 9>"$cache/lock"
flock 9 # one builder at a time; whoever waited finds the other's guest
if [ -f "$guest/root.ext4" ]; then
    echo "$guest"
    exit 0
fi

work=$(mktemp -d "$cache/building.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
log=$work/debootstrap.log

echo "build.sh: $suite from $mirror" >&2
include=$(IFS=,; echo "${packages[*]}")
debootstrap --variant=minbase --cache-dir="$cache/debs" --include="$include" \
    "$suite" "$root" "$mirror" >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "debootstrap failed"; }

echo "build.sh: settings" >&2
ssh-keygen -q -t ed25519 -N '' -C ioplateau-tests -f "$work/ssh_key"
install -D -m 600 "$work/ssh_key.pub" "$root/root/.ssh/authorized_keys"
chmod 700 "$root/root/.ssh"
# Key and nothing else; no PAM and no name lookups, each of which costs seconds in an emulated CPU.
cat >"$root/etc/ssh/sshd_config.d/tests.conf" <<'END'
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
UseDNS no
MaxSessions 64
MaxStartups 64
END
rm -f "$root"/etc/ssh/ssh_host_{rsa,ecdsa}_key*

systemd-machine-id-setup --root="$root" >/dev/null 2>&1 || echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
echo guest >"$root/etc/hostname"
echo '/dev/nvme0n1 / ext4 noatime 0 1' >"$root/etc/fstab"
chroot "$root" useradd --system --user-group --no-create-home ioplateau

# eth0 is QEMU's user network; eth1, if there, the link: its MAC says which guest this is.
mkdir -p "$root/etc/systemd/network"
cat >"$root/etc/systemd/network/10-host.network" <<'END'
[Match]
MACAddress=52:54:00:10:00:01
[Network]
Address=10.0.2.15/24
Gateway=10.0.2.2
DNS=10.0.2.3
LinkLocalAddressing=no
IPv6AcceptRA=no
END
for n in $(seq $links); do
    printf '[Match]\nMACAddress=52:54:00:77:00:%02x\n[Network]\nAddress=10.77.0.%d/24\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n' \
        "$n" "$n" >"$root/etc/systemd/network/20-link$n.network"
    echo "10.77.0.$n guest$n" >>"$root/etc/hosts"
done
echo 'nameserver 10.0.2.3' >"$root/etc/resolv.conf"

# A server that restarts must not keep clients waiting for 90 s of grace.
mkdir -p "$root/etc/nfs.conf.d"
printf '[nfsd]\ngrace-time=1\nthreads=16\n' >"$root/etc/nfs.conf.d/tests.conf"
# Else idmapd, and the server's start with it, waits ten seconds for a domain from DNS, which is not there.
sed -i 's/^# Domain = .*/Domain = guests/' "$root/etc/idmapd.conf"
mkdir -p "$root"/export/{a/sub,b} "$root"/mnt
chmod 1777 "$root"/export/{a,a/sub,b}
mkdir -p "$root/etc/systemd/journald.conf.d"
printf '[Journal]\nStorage=volatile\nForwardToConsole=no\n' >"$root/etc/systemd/journald.conf.d/tests.conf"

systemctl() { chroot "$root" systemctl --quiet "$@" 2>/dev/null; }
systemctl enable systemd-networkd ssh
systemctl disable nfs-server sysstat || true # tests start the NFS server where they want one
systemctl mask getty@tty1.service serial-getty@ttyS0.service systemd-networkd-wait-online.service \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
    fstrim.timer sysstat-collect.timer sysstat-summary.timer nfs-blkmap.service \
    systemd-binfmt.service proc-sys-fs-binfmt_misc.automount

cp "$(ls "$root"/boot/vmlinuz-* | sort -V | tail -n 1)" "$work/kernel"
chroot "$root" dpkg-query -W >"$work/packages.txt"
rm -rf "$root"/boot/initrd* "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* \
    "$root"/usr/share/{doc,man,info,locale}/*

echo "build.sh: image" >&2
truncate -s 3G "$work/root.ext4"
mkfs.ext4 -q -F -d "$root" "$work/root.ext4"
rm -rf "$root"
mv "$work" "$guest"
trap - EXIT
chmod 755 "$guest"
find "$cache" -mindepth 1 -maxdepth 1 -type d ! -name debs ! -name "$key" -mtime +14 -exec rm -rf {} +
echo "$guest"
