"""AWS: https://docs.aws.amazon.com/ec2/latest/instancetypes/."""

from __future__ import annotations

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

EBS_MODEL, STORE_MODEL = "Amazon Elastic Block Store", "Amazon EC2 NVMe Instance Storage"
VOLUME_TYPES = frozenset(
    {"gp2", "gp3", "io1", "io2", "io2_block_express", "st1", "sc1", "standard"}
)


def is_ebs(device: BlockDevice) -> bool:
    """Whether it is a Nitro volume, which counts exceeded time itself (measure.ebs)."""
    return device.model.startswith(EBS_MODEL)


def is_instance_store(device: BlockDevice) -> bool:
    """Whether it is a disk of the host by NVMe, which counts its exceeded time on some instances."""
    return device.model.startswith(STORE_MODEL)


class Aws(Cloud):
    """Amazon EC2."""

    name = "aws"
    services: Mapping[str, tuple[str, ...]] = dict.fromkeys(("efs", "fsx_openzfs", "fsx_ontap"), ())
    lane = "EBS volumes"
    file_services = ("efs", "fsx-openzfs", "fsx-ontap")

    def forms(self) -> tuple[Form, ...]:
        from ioplateau.limits.clouds.aws import forms

        return forms.FORMS

    def detect(self, files: Mapping[str, str]) -> bool:
        """Nitro by vendor, Xen by BIOS."""
        dmi = "/sys/class/dmi/id/"
        vendors = ("sys_vendor", "board_vendor", "bios_vendor", "chassis_asset_tag")
        return any(files.get(dmi + name, "").strip() == "Amazon EC2" for name in vendors) or (
            "amazon" in files.get(dmi + "bios_version", "").lower()
        )

    def wanted(self) -> tuple[Document, ...]:
        from ioplateau.limits.clouds.aws import metadata

        return metadata.wanted()

    def identify(
        self,
        documents: Mapping[str, str],
        devices: Mapping[str, BlockDevice],
        files: Mapping[str, str],
    ) -> Identity:
        from ioplateau.limits.clouds.aws import metadata

        return metadata.identify(documents, devices, files)

    def sold(self, identity: Identity, catalogue: Catalogue) -> Sold:
        from ioplateau.limits.clouds.aws import sold

        return sold.sold(identity, catalogue)

    def sells(self, vm_size: str, skus: frozenset[str]) -> bool:
        """Of all clouds' sizes only EC2's have a dot."""
        return "." in vm_size if vm_size else bool(skus & VOLUME_TYPES)

    def what_if(self, identity: Identity, catalogue: Catalogue) -> Supposed:
        from ioplateau.limits.clouds.aws import whatif

        return whatif.what_if(identity, catalogue)

    def similar(self, vm_size: str, catalogue: Catalogue) -> tuple[str, ...]:
        from ioplateau.limits.clouds.similar import similar

        return similar(catalogue, "aws_instances", "instance_type", vm_size)

    def volume_limits(self, fact: VolumeFact, catalogue: Catalogue) -> VolumeLimits:
        from ioplateau.limits.clouds.aws.fileservices import SERVICES
        from ioplateau.limits.volumes.enforced import volume_limits

        return volume_limits(fact, SERVICES, catalogue)

    def larger(self, fact: VolumeFact, catalogue: Catalogue) -> Iterable[LargerVolume]:  # noqa: ARG002
        from ioplateau.limits.clouds.aws.fileservices import larger_volume

        return larger_volume(fact)

    def sold_volume(self, spec: VolumeSpec, catalogue: Catalogue) -> SoldVolume:
        from ioplateau.limits.clouds.aws.fileservices import SERVICES

        return SERVICES[spec.service](spec, catalogue)

    def choices(
        self, identity: Identity, disks: Sequence[str], kind: Kind, catalogue: Catalogue
    ) -> Iterable[Choice]:
        from ioplateau.limits.clouds.aws import choices

        return choices.choices(identity, disks, kind, catalogue)


CLOUD: Cloud = Aws()
