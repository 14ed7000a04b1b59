"""Names near a mistyped one, out of a table."""

from __future__ import annotations

from ioplateau.limits.tables import Catalogue

CUTOFF = 0.75  # of difflib's ratio: two letters of eight may be wrong


def similar(
    catalogue: Catalogue, table: str, column: str, name: str, prefix: str = ""
) -> tuple[str, ...]:
    """Up to three entries of a table whose names, in `column`, are like `name`.

    prefix: what all the names begin with and people leave out.
    """
    from difflib import get_close_matches  # only who has made a mistake needs it

    field = f'"{column}":"'.encode()
    by_lower = {
        found.lower().removeprefix(prefix): found
        for line in catalogue.lines(table, prefix)
        if (found := line.partition(field)[2].partition(b'"')[0].decode()) and "*" not in found
    }
    wanted = name.lower()
    near = get_close_matches(wanted.removeprefix(prefix), by_lower, n=3, cutoff=CUTOFF)
    if not near and not wanted.startswith(prefix):  # which may be what is mistyped
        whole = {prefix + key: key for key in by_lower}
        near = [whole[key] for key in get_close_matches(wanted, whole, n=3, cutoff=CUTOFF)]
    return tuple(by_lower[key] for key in near)
