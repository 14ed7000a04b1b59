"""From the words of `ioplateau limits --vm-size ... --disk ... --volume ...` to the answer of a what-if."""

from __future__ import annotations

from collections.abc import Sequence

from ioplateau.limits import whatif
from ioplateau.limits.clouds import ask, ask_volume
from ioplateau.limits.clouds.ask import QuestionError
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.volumes import whatif as volume_whatif
from ioplateau.limits.volumes.ceiling import VolumeError
from ioplateau.run.commanderror import CommandError


def of_disks(
    catalogue: Catalogue,
    vm_size: str,
    disks: Sequence[str],
    request_sizes: Sequence[str] = (),
    controller: str | None = None,
) -> whatif.WhatIfAnswer:
    """What would bind first. Raises CommandError with all that is wrong, a line each."""
    wrong: list[str] = []
    sizes, question = _sizes(request_sizes, wrong), None
    try:
        question = ask.ask(catalogue, vm_size, disks, controller)
    except QuestionError as error:
        wrong.insert(0, str(error))
    if wrong or question is None:
        raise CommandError("\n".join(wrong))
    return whatif.answer(question, sizes or whatif.DEFAULT_REQUESTS)


def of_volume(
    catalogue: Catalogue,
    volumes: Sequence[str],
    vm_size: str = "",
    nconnect: int | None = None,
    request_sizes: Sequence[str] = (),
    read_percents: Sequence[float] = (),
) -> volume_whatif.VolumeAnswer:
    """What would bind first. Raises CommandError with all that is wrong, a line each."""
    wrong: list[str] = []
    if len(volumes) > 1:
        wrong.append("several volumes: ask for one at a time")
    sizes = _sizes(request_sizes, wrong)
    wrong += [
        f"request size {size}: an NFS request is at most 1 MiB; the client splits larger ones"
        for size in sizes
        if size > volume_whatif.LARGEST
    ]
    wrong += [
        f"reads {percent:g}: want 0 to 100 percent"
        for percent in read_percents
        if not 0 <= percent <= 100
    ]
    question = None
    try:
        question = ask_volume.ask(catalogue, volumes[0], vm_size, nconnect)
    except VolumeError as error:
        wrong.insert(0, str(error))
    if wrong or question is None:
        raise CommandError("\n".join(wrong))
    mixes = [percent / 100 for percent in read_percents]
    return volume_whatif.answer(
        question,
        sizes or volume_whatif.DEFAULT_REQUESTS,
        mixes or volume_whatif.DEFAULT_MIXES,
    )


def _sizes(texts: Sequence[str], wrong: list[str]) -> list[int]:
    """Those that can be read, in bytes; what is wrong with the others goes to `wrong`."""
    sizes = []
    for text in texts:
        try:
            sizes.append(ask.request_bytes(text))
        except QuestionError as error:
            wrong.append(str(error))
    return sizes
