"""What `--help` of each command says besides its own flags: settings that matter to it, examples, exit codes."""

from __future__ import annotations

from typing import NamedTuple

MACHINE = ("config.file", "path.procfs", "path.sysfs", "path.rootfs", "no-cloud")
USAGE = (2, "wrong usage or configuration, or something could not be read or written")
UNREAD = (141, "nobody reads on, as after `| head`")
ENDED = (130, "interrupted (Ctrl-C)")


class Page(NamedTuple):
    """settings: names of flags of config.flags; empty: all. examples: command line and what for."""

    settings: tuple[str, ...]
    examples: tuple[tuple[str, str], ...]
    codes: tuple[tuple[int, str], ...] = ((0, "good"), USAGE, ENDED, UNREAD)

    @property
    def epilog(self) -> str:
        """Examples and exit codes, to stand below the flags."""
        lines = ["examples:"]
        for command, what in self.examples:
            lines += [f"  {command}", f"      {what}"]
        lines += ["", "exit codes:", *(f"  {code}  {meaning}" for code, meaning in self.codes)]
        return "\n".join(lines)


PAGES = {
    "serve": Page(
        (),
        (
            ("ioplateau serve", "on port 10049, without a configuration file"),
            (
                "ioplateau serve --config.file=/etc/ioplateau/ioplateau.toml",
                "as the systemd service does",
            ),
            ("ioplateau serve --check --config.file=new.toml", "whether it would start with that"),
        ),
        ((0, "good, also where Ctrl-C ended it"), USAGE, UNREAD),
    ),
    "top": Page(
        (*MACHINE, "web.listen-address", "sampling.interval", "state.directory"),
        (
            ("ioplateau top", "what the daemon here found, or what is seen without one"),
            ("ioplateau top --url=http://db-01:10049", "what the daemon of another machine found"),
            (
                "ioplateau top --url=https://ops@db-01:10049 --ca-file=ca.pem --password-file=secret",
                "the same behind TLS and a password",
            ),
            ("ioplateau top -b -n 1", "one screen as text"),
        ),
    ),
    "limits": Page(
        (*MACHINE, "state.directory"),
        (
            ("ioplateau limits", "what this machine is allowed"),
            (
                "ioplateau limits --vm-size Standard_D8s_v3 --disk 4xP30 --request-size 8k",
                "what would bind first on another one",
            ),
        ),
    ),
    "record": Page(
        (*MACHINE, "sampling.interval"),
        (("ioplateau record slow.jsonl.gz --seconds 120", "two minutes, to be judged elsewhere"),),
        ((0, "good, also where Ctrl-C ended it"), USAGE, UNREAD),
    ),
    "replay": Page(
        ("config.file",),
        (
            ("ioplateau replay slow.jsonl.gz", "when was what held back"),
            (
                "ioplateau replay slow.jsonl.gz --fail-on-throttle",
                "for a pipeline: exits 1 if anything was",
            ),
        ),
        ((0, "good"), (1, "with --fail-on-throttle: a budget was throttled"), USAGE, ENDED, UNREAD),
    ),
    "report": Page(
        (*MACHINE, "web.listen-address", "sampling.interval"),
        (
            ("ioplateau report --since 24h", "the last day, as the daemon here remembers it"),
            ("ioplateau report slow.jsonl.gz --format html -o slow.html", "of a recording"),
        ),
        ((0, "good, also where Ctrl-C ended --minutes"), USAGE, ENDED, UNREAD),
    ),
    "doctor": Page(
        (*MACHINE, "web.listen-address", "web.config.file", "state.directory"),
        (("ioplateau doctor", "what is seen here, and how to fix what is not"),),
        ((0, "all that is needed is seen"), (1, "something vital is not"), USAGE, ENDED, UNREAD),
    ),
}
