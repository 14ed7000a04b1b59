#!/bin/sh
# Zig, which is a C compiler for any machine, as PyPI has it, by its hash (zig.txt).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=$here/../../.cache
place=$cache/zig-$(sha256sum "$here/zig.txt" | cut -c 1-12)
mkdir -p "$cache"
# Whoever comes second waits for the first.
(
    flock 9
    if [ ! -e "$place/ready" ]; then
        uv venv --quiet --clear "$place" >&2
        uv pip install --quiet --python "$place/bin/python" --require-hashes --requirements "$here/zig.txt" >&2
        touch "$place/ready"
    fi
) 9>"$cache/zig.lock"
export ZIG_GLOBAL_CACHE_DIR="$place/cache" ZIG_LOCAL_CACHE_DIR="$place/cache"
exec "$place/bin/python" -m ziglang "$@"
