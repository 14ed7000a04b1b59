"""What a cloud is to the rest of the program. A package beside this file for each, a line in
`registry` for each, its tables in data/limits.

A package's __init__ is loaded on every machine that has DMI, so it imports the rest of the
package where it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ioplateau.limits.budgets import ALL_DISKS, Kind, Limit
from ioplateau.limits.claims import VolumeFact
from ioplateau.limits.clouds.identity import Identity, Sold
from ioplateau.limits.tables import Catalogue
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.sysblock import BlockDevice

if TYPE_CHECKING:
    from ioplateau.limits.forms import Form
    from ioplateau.limits.lifting.step import Choice
    from ioplateau.limits.volumes.ceiling import SoldVolume, VolumeSpec
    from ioplateau.measure.metadata import Document

Attachment = tuple[str, int]  # role and LUN
VolumeLimits = tuple[tuple[Limit, ...], tuple[str, ...]]  # and what is wrong with the fact
LargerVolume = tuple[str, VolumeFact]  # what is bought, in words, and the volume after it


class Supposed(NamedTuple):
    """What a machine that somebody describes would be sold with.

    vm_size: as the table writes it; empty: in no table. wrong: why the question has no answer.
    allows: a sentence for each type of disk that the VM has limits for, where it has none for all.
    """

    vm_size: str
    sold: Sold
    wrong: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    allows: tuple[str, ...] = ()


class Cloud(Protocol):
    """One cloud. What has a body here need not be said by a cloud that has no such thing."""

    name: str
    # NFS services for [[volume]] service, each with the words it takes for service_level.
    services: Mapping[str, tuple[str, ...]] = NO_ENTRIES
    # What is written for a file service in `limits --volume`.
    file_services: tuple[str, ...] = ()
    # Which disks the VM's limit over its disks (Kind.VM_UNCACHED) counts together.
    lane: str = ALL_DISKS

    def forms(self) -> tuple[Form, ...]:
        """What its tables in data/limits look like."""
        ...

    def detect(self, files: Mapping[str, str]) -> bool:
        """Whether DMI, `files` by their paths, says that this machine is of this cloud."""
        ...

    def wanted(self) -> tuple[Document, ...]:
        """What to ask the metadata service for."""
        ...

    def identify(
        self,
        documents: Mapping[str, str],
        devices: Mapping[str, BlockDevice],
        files: Mapping[str, str],
    ) -> Identity:
        """What this machine is. Whatever the documents hold, this returns."""
        ...

    def sold(self, identity: Identity, catalogue: Catalogue) -> Sold:
        """The limits of every lane and disk of the machine, by what it is."""
        ...

    def sells(self, vm_size: str, skus: frozenset[str]) -> bool:
        """Whether a VM size, or disks' SKUs in lower case where it is empty, look like ours."""
        ...

    def what_if(self, identity: Identity, catalogue: Catalogue) -> Supposed:
        """The limits of a machine that is only described: `sold`, with what is assumed."""
        ...

    def similar(self, vm_size: str, catalogue: Catalogue) -> tuple[str, ...]:
        """VM sizes with names like this one, for who has mistyped it."""
        ...

    def attachment(self, device: BlockDevice) -> Attachment | None:  # noqa: ARG002
        """Role and LUN that the kernel alone tells; None: not one of this cloud's disks."""
        return None

    def volume_limits(self, fact: VolumeFact, catalogue: Catalogue) -> VolumeLimits:  # noqa: ARG002
        """What an NFS volume of one of `services` may do."""
        return (), ()

    def larger(self, fact: VolumeFact, catalogue: Catalogue) -> Iterable[LargerVolume]:  # noqa: ARG002
        """What may be bought for an NFS volume of one of `services` beside another level."""
        return ()

    def sold_volume(self, spec: VolumeSpec, catalogue: Catalogue) -> SoldVolume:
        """A volume of one of `file_services` with its ceilings. Raises VolumeError."""
        raise NotImplementedError

    def choices(
        self,
        identity: Identity,  # noqa: ARG002
        disks: Sequence[str],  # noqa: ARG002
        kind: Kind,  # noqa: ARG002
        catalogue: Catalogue,  # noqa: ARG002
    ) -> Iterable[Choice]:
        """Changes on offer that raise what these disks may do at a budget of this kind."""
        return ()
