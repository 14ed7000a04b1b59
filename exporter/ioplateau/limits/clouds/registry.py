"""The clouds that are known: a line each."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, cast

from ioplateau.limits.clouds.protocol import Cloud

if TYPE_CHECKING:
    from ioplateau.limits.forms import Form

CLOUDS = {
    "azure": "ioplateau.limits.clouds.azure",
    "aws": "ioplateau.limits.clouds.aws",
    "gcp": "ioplateau.limits.clouds.gcp",
}
# Of a [[volume]] that names none.
DEFAULT_SERVICE = "azure_netapp_files"


def load(name: str) -> Cloud | None:
    """A cloud by its name; None: no such cloud."""
    place = CLOUDS.get(name)
    return None if place is None else cast("Cloud", import_module(place).CLOUD)


def every() -> Iterator[Cloud]:
    """All of them, in the order in which they are asked."""
    return filter(None, map(load, CLOUDS))


def services() -> dict[str, tuple[str, ...]]:
    """NFS services of all clouds, each with the service levels it knows."""
    return {name: levels for cloud in every() for name, levels in cloud.services.items()}


def forms() -> dict[str, Form]:
    """The CSV files of the catalogue, by name."""
    from ioplateau.limits.forms import FILE_SERVICES  # whoever has rows of their own needs it

    tables = [form for cloud in every() for form in cloud.forms()]
    return {form.file: form for form in (*tables, FILE_SERVICES)}
