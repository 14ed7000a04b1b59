"""Google Cloud: https://cloud.google.com/compute/docs/disks/performance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ioplateau.limits.budgets import Kind
from ioplateau.limits.claims import VolumeFact
from ioplateau.limits.clouds.identity import Identity, Sold
from ioplateau.limits.clouds.protocol import Cloud, LargerVolume, Supposed, VolumeLimits
from ioplateau.limits.tables import Catalogue
from ioplateau.measure.sysblock import BlockDevice

if TYPE_CHECKING:
    from ioplateau.limits.forms import Form
    from ioplateau.limits.lifting.step import Choice
    from ioplateau.limits.volumes.ceiling import SoldVolume, VolumeSpec
    from ioplateau.measure.metadata import Document

# n2-standard-4, c3-highmem-22-lssd, e2-micro, custom-4-8192; x4-480-6t-metal.
_SIZE = (
    r"(?:[a-z]+\d+[a-z]*-)?(?:[a-z]+-)*[a-z]+(?:-\d+[a-z]*)*(?:-[a-z]+)*"
    r"|[a-z]\d+[a-z]*-\d+-\d+t(?:-[a-z]+)*"
)


class Gcp(Cloud):
    """Google Compute Engine."""

    name = "gcp"
    services: Mapping[str, tuple[str, ...]] = dict.fromkeys(("filestore",), ())
    lane = "remote disks"  # persistent disks and Hyperdisks, not local SSDs
    file_services = ("filestore",)

    def forms(self) -> tuple[Form, ...]:
        from ioplateau.limits.clouds.gcp import forms

        return forms.FORMS

    def detect(self, files: Mapping[str, str]) -> bool:
        product = files.get("/sys/class/dmi/id/product_name", "").strip()
        return product in ("Google Compute Engine", "Google")

    def wanted(self) -> tuple[Document, ...]:
        from ioplateau.limits.clouds.gcp import metadata

        return metadata.wanted()

    def identify(
        self,
        documents: Mapping[str, str],
        devices: Mapping[str, BlockDevice],
        files: Mapping[str, str],  # noqa: ARG002 - DMI does not tell the machine type
    ) -> Identity:
        from ioplateau.limits.clouds.gcp import metadata

        return metadata.identify(documents, devices)

    def sold(self, identity: Identity, catalogue: Catalogue) -> Sold:
        from ioplateau.limits.clouds.gcp import sold

        return sold.sold(identity, catalogue)

    def sells(self, vm_size: str, skus: frozenset[str]) -> bool:
        if vm_size:
            return "-" in vm_size and re.fullmatch(_SIZE, vm_size.lower()) is not None
        return any(sku.startswith(("pd-", "hyperdisk-", "local-ssd")) for sku in skus)

    def what_if(self, identity: Identity, catalogue: Catalogue) -> Supposed:
        from ioplateau.limits.clouds.gcp import whatif

        return whatif.what_if(identity, catalogue)

    def similar(self, vm_size: str, catalogue: Catalogue) -> tuple[str, ...]:
        from ioplateau.limits.clouds.gcp import whatif

        return whatif.similar(vm_size, catalogue)

    def volume_limits(self, fact: VolumeFact, catalogue: Catalogue) -> VolumeLimits:
        from ioplateau.limits.clouds.gcp.fileservices import SERVICES
        from ioplateau.limits.volumes.enforced import volume_limits

        return volume_limits(fact, SERVICES, catalogue)

    def larger(self, fact: VolumeFact, catalogue: Catalogue) -> Iterable[LargerVolume]:
        from ioplateau.limits.clouds.gcp.fileservices import larger_volume

        return larger_volume(fact, catalogue)

    def sold_volume(self, spec: VolumeSpec, catalogue: Catalogue) -> SoldVolume:
        from ioplateau.limits.clouds.gcp.fileservices import SERVICES

        return SERVICES[spec.service](spec, catalogue)

    def choices(
        self, identity: Identity, disks: Sequence[str], kind: Kind, catalogue: Catalogue
    ) -> Iterable[Choice]:
        from ioplateau.limits.clouds.gcp import choices

        return choices.choices(identity, disks, kind, catalogue)


CLOUD: Cloud = Gcp()
