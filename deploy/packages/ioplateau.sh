#!/bin/sh
# Who looks at this machine knows what its service was told, unless another file is named (or none: an
# empty IOPLATEAU_CONFIG_FILE). Not `serve`, which the unit tells, nor `replay` and `report` of a
# recording, which have the configuration of where it was made.
file=/etc/ioplateau/ioplateau.toml
case "$*" in
*--config.file*) ;;
top* | limits* | record* | doctor* | report*--minutes*)
    if [ -r "$file" ]; then
        export IOPLATEAU_CONFIG_FILE="${IOPLATEAU_CONFIG_FILE-$file}"
    elif [ -e "$file" ] && [ -z "${IOPLATEAU_CONFIG_FILE+said}" ]; then
        echo "ioplateau: $file: not readable for $(id -un), so it is left out" >&2
    fi
    ;;
esac
# -B: compiled once, at the installation; the service could not write here.
exec /usr/lib/ioplateau/python -B /usr/lib/ioplateau "$@"
