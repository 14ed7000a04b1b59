#!/bin/sh
# Who looks at this machine knows what its service was told, unless another file is named (or none: an
# empty IOPLATEAU_CONFIG_FILE). Not `serve`, which the unit tells, nor `replay` and `report` of a
# recording, which have the configuration of where it was made. Likewise what the service has learned,
# which root may read.
file=/etc/ioplateau/ioplateau.toml
state=/var/lib/ioplateau
case "$*" in
*--config.file*) ;;
top* | limits* | record* | doctor* | report*--minutes*)
    if [ -r "$file" ]; then
        export IOPLATEAU_CONFIG_FILE="${IOPLATEAU_CONFIG_FILE-$file}"
    elif [ -e "$file" ] && [ -z "${IOPLATEAU_CONFIG_FILE+said}" ]; then
        echo "ioplateau: $file: not readable for $(id -un), so it is left out" >&2
    fi
    if [ -r "$state/state.json" ]; then
        export STATE_DIRECTORY="${STATE_DIRECTORY-$state}" # as systemd says it to the service
    elif [ -L "$state" ] && [ "$(id -u)" != 0 ]; then
        case "$*" in
        *--vm-size* | *--disk* | *--volume* | *--state.directory*) ;; # no limits of this machine, or other state
        limits*) # of the others top asks the service itself
            echo "ioplateau: $state: not readable for $(id -un), so what the service has learned is left out" >&2
            ;;
        esac
    fi
    ;;
esac
# -B: compiled once, at the installation; the service could not write here.
exec /usr/lib/ioplateau/python -B /usr/lib/ioplateau "$@"
