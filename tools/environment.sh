#!/usr/bin/env bash
# Make .venv with everything the project needs, from uv.lock. Gets uv itself when it is missing.
set -euo pipefail
shopt -s inherit_errexit # what fails in find_uv ends this script, too
cd "$(dirname "$0")/.."

say() { echo "environment: $*" >&2; }

find_uv() {
    if [ "$(.cache/uv/bin/uv --version 2>/dev/null | cut -d ' ' -f 2)" = "$(pinned)" ]; then
        echo "$PWD/.cache/uv/bin/uv"
        return
    fi
    if uv=$(command -v uv) && [[ "$uv" != "$PWD"/.cache/* ]]; then echo "$uv"; return; fi
    command -v python3 >/dev/null || need_debian python3
    python3 -c 'import ensurepip' 2>/dev/null || need_debian python3-venv
    say "installing uv into .cache/uv"
    python3 -m venv .cache/uv >&2
    .cache/uv/bin/pip install --quiet --require-hashes --requirement tools/uv.txt >&2
    echo "$PWD/.cache/uv/bin/uv"
}

# The version that tools/uv.txt names, with the hash that it must have.
pinned() { sed -n 's/^uv==\([^ ]*\).*/\1/p' tools/uv.txt; }

need_debian() {
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        say "$1 is missing: install it first (Debian, Ubuntu: sudo apt-get install $1)"
        exit 1
    fi
    say "installing the Debian package $1"
    { apt-get update -q || true; DEBIAN_FRONTEND=noninteractive apt-get install -qy "$1"; } >&2
}

uv=$(find_uv)
# --frozen: exactly what the lock file says, on every machine.
"$uv" sync --quiet --frozen
.venv/bin/python tools/native.py
say "ready: .venv/bin/ioplateau"
