#!/bin/bash
# Everything that is given to others, into dist/: wheels (amd64, arm64, and one without compiled
# parts for any machine), deb and rpm (amd64, arm64), the single file, the list of what is in them
# (SBOM), checksums.
#
#   deploy/packages/build.sh [DIRECTORY]
#
# The same commit gives the same bytes: times come from the commit (or SOURCE_DATE_EPOCH), tools
# and libraries from lock files with hashes. Needs uv and PyPI; Go builds nfpm (see go.sh), Zig the
# native twin of the scan (zig.sh).
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022

die() { echo "build.sh: $*" >&2; exit 1; }
say() { echo "build.sh: $*" >&2; }

root=$(realpath "$(dirname "$0")/../..")
dist=$(realpath -m "${1:-$root/dist}")
cd "$root"
PATH=$PATH:$PWD/.cache/uv/bin # where tools/environment.sh puts uv
for tool in uv git python3; do
    command -v $tool >/dev/null || die "$tool is missing"
done
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} || die "no git history: set SOURCE_DATE_EPOCH"
export SOURCE_DATE_EPOCH
version=${IOPLATEAU_VERSION:-$(sed -n 's/^__version__ = "\(.*\)"/\1/p' exporter/ioplateau/__init__.py)}
# Debian's and Red Hat's names, and the wheels that run on every system with glibc 2.17.
architectures=(amd64:x86_64-manylinux2014 arm64:aarch64-manylinux2014)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dist"

same_times() { find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +; }

wheel() { # platform as in a wheel's name, or "any"
    IOPLATEAU_WHEEL=$1 IOPLATEAU_CC="$PWD/deploy/packages/zig.sh cc -target ${1#manylinux_2_17_}-linux-gnu.2.17" \
        uv build --quiet --wheel --require-hashes --build-constraints deploy/packages/build-constraints.txt \
        --out-dir "$work"
    wheel=$(ls "$work"/ioplateau-*-"$1".whl)
    cp "$wheel" "$dist/"
}

# Libraries as locked, for a Python 3.11 or newer of any minor version: what is compiled has the
# stable ABI (psutil, bcrypt), or goes without (PyYAML works in pure Python).
libraries() { # architecture's wheel tag, target directory
    local flags=(--quiet --target "$2" --python-version 3.11 --python-platform "$1" --no-deps --only-binary :all:)
    uv pip install "${flags[@]}" --require-hashes --requirements "$work/locked.txt"
    uv pip install "${flags[@]}" "$wheel"
    rm -rf "${2:?}/bin" "$2"/*.pth "$2"/.lock "$2/.gitignore"
    find "$2" -name '_yaml*.so' -delete
    # What installers note about themselves; names, versions and licences stay.
    find "$2" -path '*.dist-info/*' \( -name RECORD -o -name INSTALLER -o -name REQUESTED \
        -o -name direct_url.json -o -name uv_cache.json -o -name uv_build.json \) -delete
    find "$2" -type d -name __pycache__ -prune -exec rm -rf {} +
    [ -z "$(find "$2" -name '*.so' ! -name '*.abi3.so')" ] || die "only for one Python: $(find "$2" -name '*.so')"
}

stage() { # wheel tag, directory
    mkdir -p "$2/share" "$2"/doc/{alerts,dashboards,docs/runbooks}
    wheel "manylinux_2_17_${1%%-*}"
    libraries "$1" "$2/lib"
    install -m 644 deploy/packages/__main__.py "$2/lib/"
    install -m 755 deploy/packages/python.sh "$2/lib/python"
    install -m 755 deploy/packages/ioplateau.sh "$2/ioplateau"
    install -m 644 deploy/systemd/ioplateau.{service,socket} deploy/packages/ioplateau.default LICENSE "$2/"
    install -m 644 deploy/packages/ioplateau.{1,bash} "$2/"
    install -m 644 deploy/systemd/{ebs,processes,tls}.conf "$2/share/"
    install -m 644 deploy/packages/ioplateau.toml "$2/"
    # As in the checkout, for their links to each other; without the pictures, which are larger than all else.
    install -m 644 README.md CHANGELOG.md "$2/doc/"
    install -m 644 docs/*.{md,toml,json} "$2/doc/docs/"
    install -m 644 docs/runbooks/*.md "$2/doc/docs/runbooks/"
    install -m 644 alerts/*.yml "$2/doc/alerts/"
    install -m 644 dashboards/*.json "$2/doc/dashboards/"
    # uv's cache keeps the modes that somebody's umask gave its files once.
    chmod -R u=rwX,go=rX "$2"
    [ -z "$(find "$2" ! -perm -444)" ] || die "not readable for all: $(find "$2" ! -perm -444)"
    same_times "$2"
}

packages() { # architecture, staged directory
    for format in deb rpm; do
        ARCH=$1 VERSION=$version STAGE=$2 "$work/nfpm" package --config deploy/packages/nfpm.yaml \
            --packager $format --target "$dist/" >/dev/null
    done
}

say "ioplateau $version, as of $(date -d "@$SOURCE_DATE_EPOCH" -Is)"
# What an earlier build left; nothing else that lies there.
rm -f "$dist"/ioplateau "$dist"/ioplateau[-_][0-9]* "$dist"/SHA256SUMS
# Of the extras only `web`: docs/limits.md says what takes the place of ec2.
# An index of somebody's own (UV_INDEX_URL) must not leave a trace.
uv export --quiet --frozen --no-dev --extra web --no-emit-project --no-header --no-annotate \
    --output-file "$work/locked.txt" >/dev/null
wheel any
deploy/packages/zig.sh version >/dev/null # so that it is there
deploy/packages/go.sh -C deploy/packages build -trimpath -o "$work/nfpm" github.com/goreleaser/nfpm/v2/cmd/nfpm
stages=()
for each in "${architectures[@]}"; do
    say "packages for ${each%%:*}"
    stage "${each#*:}" "$work/${each%%:*}"
    packages "${each%%:*}" "$work/${each%%:*}"
    stages+=("$work/${each%%:*}/lib")
done
python3 deploy/single-file/make_archive.py "$dist/ioplateau" "${stages[@]}"
uv export --quiet --frozen --no-dev --extra web --format cyclonedx1.5 --preview-features sbom-export |
    python3 deploy/packages/sbom.py "$version" >"$dist/ioplateau-$version.cdx.json"
(cd "$dist" && sha256sum -- ioplateau ioplateau[-_][0-9]* >SHA256SUMS)
say "in $dist:"
(cd "$dist" && ls -s --block-size=KiB)
