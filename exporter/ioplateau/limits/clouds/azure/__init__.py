"""Azure: https://learn.microsoft.com/azure/virtual-machines/."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ioplateau.limits.budgets import Kind
from ioplateau.limits.claims import VolumeFact
from ioplateau.limits.clouds.identity import Identity, Sold
from ioplateau.limits.clouds.protocol import Attachment, Cloud, LargerVolume, Supposed, VolumeLimits
from ioplateau.limits.tables import Catalogue
from ioplateau.measure.sysblock import BlockDevice

if TYPE_CHECKING:
    from ioplateau.limits.forms import Form
    from ioplateau.limits.lifting.step import Choice
    from ioplateau.limits.volumes.ceiling import SoldVolume, VolumeSpec
    from ioplateau.measure.metadata import Document

# Every Azure VM carries this tag, and no other Hyper-V machine does (as cloud-init's ds-identify).
ASSET_TAG = "7783-7084-3265-9085-8269-3286-77"

# Standard_D8s_v3, E32-8s_v5, NV36adms_A10_v5.
_SIZE = r"(?i)(?:standard|basic)_\w.*|[a-z]+\d+(?:-\d+)?[a-z]*(?:_[a-z0-9]+)*"
_NVME_MODELS = ("MSFT NVMe", "Microsoft NVMe")
_SKU = r"(?i)\w+_[lz]rs|[pes]\d+"


class Azure(Cloud):
    """Microsoft Azure."""

    name = "azure"
    services: Mapping[str, tuple[str, ...]] = {
        "azure_netapp_files": ("Standard", "Premium", "Ultra", "Flexible"),
        "azure_files": (),
    }
    lane = "uncached disks"
    file_services = ("netapp", "files", "amlfs", "elasticsan")

    def forms(self) -> tuple[Form, ...]:
        from ioplateau.limits.clouds.azure import forms

        return forms.FORMS

    def detect(self, files: Mapping[str, str]) -> bool:
        return files.get("/sys/class/dmi/id/chassis_asset_tag", "").strip() == ASSET_TAG

    def wanted(self) -> tuple[Document, ...]:
        from ioplateau.limits.clouds.azure import metadata

        return metadata.wanted()

    def identify(
        self,
        documents: Mapping[str, str],
        devices: Mapping[str, BlockDevice],
        files: Mapping[str, str],  # noqa: ARG002 - DMI does not tell Azure's sizes
    ) -> Identity:
        from ioplateau.limits.clouds.azure import metadata

        return metadata.identify(documents, devices)

    def sold(self, identity: Identity, catalogue: Catalogue) -> Sold:
        from ioplateau.limits.clouds.azure import sold

        return sold.sold(identity, catalogue)

    def sells(self, vm_size: str, skus: frozenset[str]) -> bool:
        if vm_size:
            return re.fullmatch(_SIZE, vm_size) is not None
        return any(re.fullmatch(_SKU, sku) for sku in skus)

    def what_if(self, identity: Identity, catalogue: Catalogue) -> Supposed:
        from ioplateau.limits.clouds.azure import whatif

        return whatif.what_if(identity, catalogue)

    def similar(self, vm_size: str, catalogue: Catalogue) -> tuple[str, ...]:
        from ioplateau.limits.clouds.similar import similar

        return similar(catalogue, "azure_vm_sizes", "name", vm_size, prefix="standard_")

    def attachment(self, device: BlockDevice) -> Attachment | None:
        if not device.controller and not device.model.startswith(_NVME_MODELS):
            return None
        from ioplateau.limits.clouds.azure import attachments

        return attachments.attachment(device)

    def volume_limits(self, fact: VolumeFact, catalogue: Catalogue) -> VolumeLimits:
        from ioplateau.limits.clouds.azure import volumes

        return volumes.volume_limits(fact, catalogue)

    def larger(self, fact: VolumeFact, catalogue: Catalogue) -> Iterable[LargerVolume]:
        from ioplateau.limits.clouds.azure import volumes

        return volumes.larger_volume(fact, catalogue)

    def sold_volume(self, spec: VolumeSpec, catalogue: Catalogue) -> SoldVolume:
        from ioplateau.limits.clouds.azure.fileservices import SERVICES

        return SERVICES[spec.service](spec, catalogue)

    def choices(
        self, identity: Identity, disks: Sequence[str], kind: Kind, catalogue: Catalogue
    ) -> Iterable[Choice]:
        from ioplateau.limits.clouds.azure import choices

        return choices.choices(identity, disks, kind, catalogue)


CLOUD: Cloud = Azure()
