#!/bin/sh
# Zig, which is a C compiler for any machine, as PyPI has it, by its hash (zig.txt).
set -eu
place=$("$(dirname "$0")/from-pypi.sh" zig)
export ZIG_GLOBAL_CACHE_DIR="$place/cache" ZIG_LOCAL_CACHE_DIR="$place/cache"
exec "$place/bin/python" -m ziglang "$@"
