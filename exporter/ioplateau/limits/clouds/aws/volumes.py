"""What EBS volumes were sold as: DescribeVolumes, as the EC2 API and as the AWS CLI write it.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeVolumes.html. Of the answer
only type, IOPS, throughput and attachments are kept: no tags, no snapshots, no keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from ioplateau.limits.clouds import lenientjson
from ioplateau.measure.mappings import NO_ENTRIES

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

VOLUMES = "aws/volumes"
API_VERSION = "2016-11-15"
# More volumes than any instance can have: one page is all.
MOST = 500
# Types whose IOPS, and gp3's throughput, are provisioned, and told of each volume.
PROVISIONED = ("gp3", "io1", "io2")


class EbsVolume(NamedTuple):
    """One volume. None: not told. devices: "/dev/sdf", by the id of the instance it is attached to."""

    kind: str  # gp3
    iops: float | None
    mibps: float | None
    devices: Mapping[str, str]


class UnusableVolume(NamedTuple):
    """One volume of which something wrong was told. devices: as of a volume."""

    why: str
    devices: Mapping[str, str]


class EbsVolumes(NamedTuple):
    """Volumes by id, who told, and those of which something wrong was told, by id."""

    volumes: Mapping[str, EbsVolume] = NO_ENTRIES
    source: str = ""
    unusable: Mapping[str, UnusableVolume] = NO_ENTRIES


def query(instance: str) -> str:
    """Path and query of one question for all volumes of an instance."""
    fields = {
        "Action": "DescribeVolumes",
        "Filter.1.Name": "attachment.instance-id",
        "Filter.1.Value.1": instance,
        "MaxResults": str(MOST),
        "Version": API_VERSION,
    }
    return f"/?{urlencode(fields)}"


def of_cli(text: str) -> EbsVolumes:
    """`aws ec2 describe-volumes --output json`. Raises ValueError, with what was found."""
    whole = lenientjson.document(text)
    found = whole.get("volumes") if isinstance(whole, dict) else None
    if found is None or found != lenientjson.items(found):
        raise ValueError(f'no JSON object with a list "Volumes": {text[:60]!r}')
    return _by_id(item for item in found if isinstance(item, dict))


def of_api(text: str) -> EbsVolumes:
    """DescribeVolumesResponse. Raises ValueError, with what was found."""
    from xml.etree import ElementTree as ET

    try:
        # Of AWS, over TLS; and expat since 2.4.1 does not follow entities without end.
        whole = ET.fromstring(text)  # noqa: S314
        found = _element(whole)
    except ET.ParseError as error:
        raise ValueError(f"no XML: {error}") from None
    except RecursionError:
        raise ValueError("XML that is nested beyond reason") from None
    if not whole.tag.endswith("DescribeVolumesResponse") or not isinstance(found, dict):
        raise ValueError(f"{_local(whole.tag)} instead of DescribeVolumesResponse")
    return _by_id(
        item for item in lenientjson.items(found.get("volumeset")) if isinstance(item, dict)
    )


def refusal(text: str) -> str:
    """The code of an error of the API ("UnauthorizedOperation"); empty: there is none."""
    head, _, rest = text.partition("<Code>")
    code = rest.partition("</Code>")[0]
    return code if head != text and code.isalnum() and len(code) < 60 else ""


def document(found: EbsVolumes, source: str) -> str:
    """What is kept, and what a recording carries."""
    described = {name: volume._asdict() for name, volume in found.volumes.items()}
    kept = {"source": source, "volumes": described}
    if found.unusable:
        kept["unusable"] = {name: wrong._asdict() for name, wrong in found.unusable.items()}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"))


def read(text: str, reasons: list[str]) -> EbsVolumes:
    """What `document` wrote. Whatever it holds, this returns."""
    whole = lenientjson.document(text)
    volumes = {}
    for name, described in lenientjson.mapping(whole, "volumes").items():
        if isinstance(described, dict):
            what = f"{VOLUMES}: {name}"
            volumes[name] = EbsVolume(
                lenientjson.text(described.get("kind")),
                lenientjson.number(described, "iops", what, reasons),
                lenientjson.number(described, "mibps", what, reasons),
                _devices(described),
            )
    source = lenientjson.text(whole.get("source")) if isinstance(whole, dict) else ""
    unusable = {
        name: UnusableVolume(lenientjson.text(wrong.get("why")), _devices(wrong))
        for name, wrong in lenientjson.mapping(whole, "unusable").items()
        if isinstance(wrong, dict)
    }
    return EbsVolumes(volumes, source, unusable)


def _devices(described: Mapping[str, Any]) -> dict[str, str]:
    found = lenientjson.mapping(described, "devices")
    return {instance: lenientjson.text(device) for instance, device in found.items()}


def _by_id(items: Iterable[Mapping[str, Any]]) -> EbsVolumes:
    found, unusable = {}, {}
    for item in items:
        name = lenientjson.text(item.get("volumeid"))
        reasons: list[str] = []
        iops = lenientjson.number(item, "iops", f"says of {name}", reasons)
        mibps = lenientjson.number(item, "throughput", f"says of {name}", reasons)
        attachments = lenientjson.items(item.get("attachments") or item.get("attachmentset"))
        devices = {
            lenientjson.text(one.get("instanceid")): lenientjson.text(one.get("device"))
            for one in attachments
            if isinstance(one, dict)
        }
        kind = lenientjson.text(item.get("volumetype")).lower()
        if not kind:
            reasons.append(f"says no VolumeType of {name}")
        elif kind in PROVISIONED and iops is None:
            reasons.append(f"says no Iops of {name}, a {kind}")
        elif kind == "gp3" and mibps is None:
            reasons.append(f"says no Throughput of {name}, a {kind}")
        if reasons:
            unusable[name] = UnusableVolume(reasons[0], devices)
        elif name:
            found[name] = EbsVolume(kind, iops, mibps, devices)
    return EbsVolumes(found, unusable=unusable)


def _element(element: Element) -> Any:
    """EC2's XML as the CLI's JSON: a set's items as a list, all names in lower case."""
    if not len(element):
        return (element.text or "").strip()
    if all(_local(child.tag) == "item" for child in element):
        return [_element(child) for child in element]
    return {_local(child.tag).lower(): _element(child) for child in element}


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
