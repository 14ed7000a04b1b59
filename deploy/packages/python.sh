#!/bin/sh
# The first Python of this system that is new enough, and nothing of its own packages (-I -S): what
# ioplateau needs lies beside this file.
for python in /usr/bin/python3 /usr/bin/python3.14 /usr/bin/python3.13 /usr/bin/python3.12 /usr/bin/python3.11; do
    if "$python" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        exec "$python" -I -S "$@"
    fi
done
echo "ioplateau: no Python 3.11 or newer in /usr/bin: install python3.11 (SLES: python311)" >&2
exit 2
