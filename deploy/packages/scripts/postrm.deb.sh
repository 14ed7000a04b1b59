#!/bin/sh
set -e

if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi

if [ "$1" = purge ]; then
    if [ -x /usr/bin/deb-systemd-helper ]; then
        deb-systemd-helper purge ioplateau.socket ioplateau.service >/dev/null || true
        deb-systemd-helper unmask ioplateau.socket ioplateau.service >/dev/null || true
    fi
    # A dynamic user's state lies in private/, with a link to it.
    rm -rf /var/lib/private/ioplateau /var/lib/ioplateau
    rmdir /etc/ioplateau 2>/dev/null || true
fi
