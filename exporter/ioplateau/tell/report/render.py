"""A report as text, as Markdown, as one HTML file that needs nothing else, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from ioplateau.limits.budgets import FlowKey
from ioplateau.tell import cells, formatting
from ioplateau.tell.report import figures, plots
from ioplateau.tell.report.document import (
    Paragraph,
    Plot,
    Report,
    ReportSource,
    ReportTable,
    budget_name,
)
from ioplateau.tell.report.samples import Samples

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--back:#fff;--line:#d0d7de;
--one:#0969da;--two:#bc4c00;--limit:#b42318}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4af;--back:#0f1418;--line:#30363d;
--one:#58a6ff;--two:#ffa657;--limit:#ff8b80}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);margin:0 auto;
padding:1rem;max-width:80rem;overflow-wrap:anywhere}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem;border-bottom:1px solid var(--line)}
.wide{overflow-x:auto}table{border-collapse:collapse;overflow-wrap:normal;margin:.5rem 0 1rem;font-size:.85rem}
th,td{border:1px solid var(--line);padding:.2rem .5rem;text-align:left;vertical-align:top}
.numbers td,.numbers th+th{text-align:right;white-space:nowrap}
.words tbody th,.words td:nth-child(2):not(:last-child),.words td:nth-child(3):not(:last-child){white-space:nowrap}
.words td:nth-child(n+4):last-child{min-width:18rem}
figure{margin:1rem 0}small{font-weight:400;color:var(--soft)}figcaption{font-weight:600}svg{width:100%;height:auto}
svg text{fill:var(--soft);font:11px system-ui,sans-serif}
.axis{stroke:var(--line);fill:none}.l0{stroke:var(--one)}.l1{stroke:var(--two)}
.l0,.l1{fill:none;stroke-width:1.3}.limit{stroke:var(--limit);stroke-dasharray:5 4;fill:none}
@page{margin:12mm}@media print{:root{--ink:#000;--soft:#444;--back:#fff;--line:#bbb;--one:#0645ad;--two:#a04000;
--limit:#b00}figure,tr{break-inside:avoid}h1,h2,p{break-after:avoid}body{max-width:none;padding:0}
table{font-size:.62rem}.numbers{font-size:.54rem}th,td{padding:.1rem .2rem}.wide{overflow:visible}.words td:nth-child(n+4):last-child{min-width:0}}
"""


def text(document: Report) -> str:
    """For a terminal: sections with aligned tables; plots are left to HTML."""
    lines = [document.title, "=" * len(document.title)]
    for title, blocks in _without_plots(document):
        lines += ["", title, "-" * len(title)]
        for block in blocks:
            lines += [block.text] if isinstance(block, Paragraph) else _aligned(block)
    return "\n".join(map(formatting.printable, lines)) + "\n"


def _without_plots(document: Report) -> Iterator[tuple[str, list[Paragraph | ReportTable]]]:
    """The title and the blocks of each section that has others than plots."""
    for section in document.sections:
        blocks = [block for block in section.blocks if not isinstance(block, Plot)]
        if blocks:
            yield section.title, blocks


def _aligned(table: ReportTable) -> Iterable[str]:
    rows = [row for row in (table.columns, *table.rows) if any(row)]
    return [*cells.aligned(rows, range(1, len(table.columns)) if table.is_numbers else ()), ""]


def markdown(document: Report) -> str:
    """CommonMark with tables as GitHub has them."""
    lines = [f"# {_marked(document.title)}"]
    for title, blocks in _without_plots(document):
        lines += ["", f"## {_marked(title)}", ""]
        for block in blocks:
            if isinstance(block, Paragraph):
                lines += [_marked(block.text), ""]
            else:
                right = "---:" if block.is_numbers else "---"
                rule = ["---", *[right] * (len(block.columns) - 1)]
                rows = [block.columns, rule, *block.rows]
                lines += [
                    "| " + " | ".join(word if row is rule else _marked(word) for word in row) + " |"
                    for row in rows
                ]
                lines.append("")
    return "\n".join(map(formatting.printable, lines)).rstrip() + "\n"


def _marked(words: str) -> str:
    """Without what Markdown would take for its own."""
    one_line = " ".join(words.split())
    for letter in "\\`*_[]<>|#":
        one_line = one_line.replace(letter, "\\" + letter)
    return one_line


def html(document: Report) -> str:
    """One file: no script, no request to anywhere."""
    parts = [
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>",
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name=viewport content="width=device-width,initial-scale=1">',
        f"<title>{_safe(document.title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{_safe(document.title)}</h1>\n",
    ]
    for section in document.sections:
        parts.append(f"<section><h2>{_safe(section.title)}</h2>\n")
        for block in section.blocks:
            if isinstance(block, Paragraph):
                parts.append(f"<p>{_safe(block.text)}</p>\n")
            elif isinstance(block, ReportTable):
                parts.extend(_table(block))
            else:
                parts.append(plots.figure(block, _safe))
        parts.append("</section>\n")
    parts.append("</body></html>\n")
    return "".join(parts)


def _table(table: ReportTable) -> Iterable[str]:
    kind = "numbers" if table.is_numbers else "words"
    yield f"<div class=wide tabindex=0><table class={kind}>"
    if any(table.columns):
        cells = "".join(f"<th scope=col>{_safe(word)}</th>" for word in table.columns)
        yield f"<thead><tr>{cells}</tr></thead>"
    yield "<tbody>"
    for first, *rest in table.rows:
        cells = "".join(f"<td>{_safe(word)}</td>" for word in rest)
        yield f"<tr><th scope=row>{_safe(first)}</th>{cells}</tr>\n"
    yield "</tbody></table></div>\n"


def _safe(words: str) -> str:
    return escape(formatting.printable(words))


def as_json(samples: Samples, source: ReportSource) -> dict[str, Any]:
    """Every figure as a JSON value in base units; None: not known."""
    seen = figures.storage(samples)
    return {
        **source._asdict(),
        "seconds_with_readings": sum(samples.seconds),
        "unseen": [{"source": source, **each._asdict()} for source, each in samples.unseen.items()],
        "episodes": [each._asdict() for each in samples.episodes],
        "events": [each._asdict() for each in samples.events],
        "lifting": [
            {"kind": key.kind, "name": key.name, "steps": list(steps)}
            for key, steps in samples.lifting.items()
        ],
        "limits": [_limit_json(samples, each) for each in figures.tenths(samples)],
        "requirements": {
            "all_disks": _checklist(samples, figures.whole_disks(samples)),
            "flows": [
                {"kind": key.kind, "name": key.name, **_checklist(samples, [key])} for key in seen
            ],
            "cpu_ratio": figures.spread(samples.cpu, samples.seconds)._asdict(),
            "memory_ratio": figures.spread(samples.memory, samples.seconds)._asdict(),
            "random_ratio": None,
        },
        "request_sizes": [_request_sizes(samples, key) for key in seen],
    }


def _limit_json(samples: Samples, tenths: figures.Tenths) -> dict[str, Any]:
    budget, dimension, direction = tenths.key
    return {
        "budget": budget_name(samples, budget),
        "kind": budget.kind,
        "name": budget.name,
        "dimension": dimension,
        "direction": direction,
        "limit": tenths.value,
        "least_limit": tenths.least_value,
        "most_limit": tenths.most_value,
        "source": tenths.source,
        "seconds_by_tenth": list(tenths.seconds),
        "seconds_above": tenths.above,
        "highest_share": tenths.most,
    }


def _request_sizes(samples: Samples, key: FlowKey) -> dict[str, Any]:
    shares = figures.request_sizes(samples, key)
    return {
        "kind": key.kind,
        "name": key.name,
        "up_to_bytes": list(figures.REQUEST_SIZES),
        "read_share": [read for read, _ in shares],
        "write_share": [write for _, write in shares],
    }


def _checklist(samples: Samples, keys: list[Any]) -> dict[str, Any]:
    found = figures.checklist(samples, keys)
    return {name: spread._asdict() for name, spread in found._asdict().items()}
