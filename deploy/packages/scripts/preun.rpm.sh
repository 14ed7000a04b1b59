#!/bin/sh
# $1: how many versions stay; 0 at the removal. An upgrade has compiled its files before this.
if [ "$1" -eq 0 ]; then
    if [ -d /run/systemd/system ]; then
        systemctl stop ioplateau.service ioplateau.socket || true
    fi
    systemctl --quiet disable ioplateau.service ioplateau.socket || true
    find /usr/lib/ioplateau -type d -name __pycache__ -exec rm -rf {} + 2>/dev/null || true
fi
exit 0
