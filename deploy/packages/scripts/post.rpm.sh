#!/bin/sh
# $1: how many versions are installed after this step; 1 at the first installation.
find /usr/lib/ioplateau -type d -name __pycache__ -exec rm -rf {} + 2>/dev/null || true
/usr/lib/ioplateau/python -m compileall -q /usr/lib/ioplateau || true

if [ "$1" -eq 1 ]; then
    systemctl --quiet enable ioplateau.socket ioplateau.service || true
fi
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
    if [ "$1" -eq 1 ]; then
        systemctl start ioplateau.service || true
    else
        systemctl try-restart ioplateau.service || true
    fi
fi
exit 0
