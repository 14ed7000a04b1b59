#!/bin/sh
# Debian's own words for a service (deb-systemd-helper, deb-systemd-invoke): whoever disabled it
# keeps it disabled over an upgrade, and policy-rc.d is asked.
set -e

case "$1" in
configure | triggered | abort-upgrade | abort-deconfigure | abort-remove) ;;
*) exit 0 ;;
esac

/usr/lib/ioplateau/python -m compileall -q /usr/lib/ioplateau || true
[ "$1" != triggered ] || exit 0 # by another Python of the system: see nfpm.yaml

for unit in ioplateau.socket ioplateau.service; do
    deb-systemd-helper unmask $unit >/dev/null || true
    if deb-systemd-helper --quiet was-enabled $unit; then
        deb-systemd-helper enable $unit >/dev/null || true
    else
        deb-systemd-helper update-state $unit >/dev/null || true
    fi
done

if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
    if [ -n "$2" ]; then action=restart; else action=start; fi
    # A service that does not start (a wrong configuration) says so, and is no broken package.
    deb-systemd-invoke $action ioplateau.service >/dev/null || true
fi
