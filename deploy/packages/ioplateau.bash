# Completion of ioplateau for bash. Written by tools/manual.py from the parser.
_ioplateau() {
    local word=${COMP_WORDS[COMP_CWORD]} words
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "serve top limits record replay report doctor --help --version" -- "$word")
        return
    fi
    case ${COMP_WORDS[1]} in
        serve) words="-h --help --config.file --web.listen-address --web.systemd-socket --web.telemetry-path --web.config.file --path.procfs --path.sysfs --path.rootfs --log.level --log.format --sampling.interval --no-cloud --state.directory --check" ;;
        top) words="-h --help --config.file --web.listen-address --path.procfs --path.sysfs --path.rootfs --sampling.interval --no-cloud --state.directory -b --batch --json -n --count --url --no-daemon --ca-file --password-file --cert-file --key-file" ;;
        limits) words="-h --help --config.file --path.procfs --path.sysfs --path.rootfs --no-cloud --state.directory --json --vm-size --disk --request-size --controller --volume --nconnect --reads" ;;
        record) words="-h --help --config.file --path.procfs --path.sysfs --path.rootfs --sampling.interval --no-cloud --seconds --json" ;;
        replay) words="-h --help --config.file --format --json --fail-on-throttle" ;;
        report) words="-h --help --config.file --web.listen-address --path.procfs --path.sysfs --path.rootfs --sampling.interval --no-cloud --url --ca-file --password-file --cert-file --key-file --since --from --to --minutes --format -o --output" ;;
        doctor) words="-h --help --config.file --web.listen-address --web.config.file --path.procfs --path.sysfs --path.rootfs --no-cloud --state.directory --json" ;;
        *) words="" ;;
    esac
    [ "$word" != = ] || word="" # of --flag=, whose value bash takes for a word of its own
    case $word in
        -*) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word") ;;
        *) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    esac
}
complete -o filenames -F _ioplateau ioplateau
