#!/bin/sh
set -e

if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke stop ioplateau.service ioplateau.socket >/dev/null || true
fi
# Compiled at the installation, so dpkg does not know these.
find /usr/lib/ioplateau -type d -name __pycache__ -exec rm -rf {} + 2>/dev/null || true
