"""EBS volume types: from the CLI's file, and from an EC2 API and metadata service spoken to for real."""

import http.server
import json
import os
import subprocess
import sys
import threading
from urllib.parse import parse_qs, urlsplit

import pytest

from cloud_machines import NITRO_DMI, devices, nvme
from hand_clock import HandClock
from ioplateau.limits.budgets import Dimension, Origin
from ioplateau.limits.claims import DiskFact
from ioplateau.limits.clouds import aws, discover
from ioplateau.limits.clouds.aws import metadata, volumes
from ioplateau.measure import linklocal
from ioplateau.measure.snapshot import Static
from ioplateau.run.cataloguefiles import CatalogueFiles
from ioplateau.run.cloud import fetch_once, volume_types
from ioplateau.run.settings import VolumeQuestions
from ioplateau.run.volumes import (
    KEPT_SECONDS,
    Credentials,
    Reply,
    VolumesError,
    VolumeTypes,
    of_file,
)

MIB = 1 << 20
ID = "vol-0123456789abcdef0"
KNOWN = {metadata.REGION: "eu-west-1", metadata.INSTANCE: "i-0abc"}
STATIC = Static()
# As `aws ec2 describe-volumes --output json` prints it.
CLI = {
    "Volumes": [
        {
            "AvailabilityZoneId": "euw1-az1",
            "Iops": 6000,
            "Tags": [{"Key": "Name", "Value": "SECRET"}],
            "VolumeType": "gp3",
            "MultiAttachEnabled": False,
            "Throughput": 500,
            "VolumeId": ID,
            "Size": 500,
            "State": "in-use",
            "Attachments": [
                {"InstanceId": "i-0abc", "VolumeId": ID, "State": "attached", "Device": "/dev/sdf"}
            ],
        },
        {"VolumeId": "vol-0000000000000000a", "VolumeType": "gp2", "Iops": 300, "Size": 100},
    ]
}
# As the API Reference shows it, with a type that has figures of its own.
XML = f"""<?xml version="1.0" encoding="UTF-8"?>
<DescribeVolumesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
   <requestId>59dbff89-35bd-4eac-99ed-be587EXAMPLE</requestId>
   <volumeSet>
      <item>
         <volumeId>{ID}</volumeId>
         <size>500</size>
         <snapshotId/>
         <availabilityZone>eu-west-1a</availabilityZone>
         <status>in-use</status>
         <createTime>2026-01-01T00:00:00.000Z</createTime>
         <attachmentSet>
            <item>
               <volumeId>{ID}</volumeId>
               <instanceId>i-0abc</instanceId>
               <device>/dev/sdf</device>
               <status>attached</status>
            </item>
         </attachmentSet>
         <volumeType>io2</volumeType>
         <iops>10000</iops>
         <encrypted>true</encrypted>
         <multiAttachEnabled>false</multiAttachEnabled>
      </item>
   </volumeSet>
</DescribeVolumesResponse>"""
DENIED = """<?xml version="1.0" encoding="UTF-8"?>
<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>You are not authorized to
perform this operation.</Message></Error></Errors><RequestID>ea966190</RequestID></Response>"""


def imds(request):
    """The instance's metadata service, as far as a role's credentials need it."""
    role = {
        "Code": "Success",
        "Type": "AWS-HMAC",
        "AccessKeyId": "ASIAEXAMPLE",
        "SecretAccessKey": "the-secret",
        "Token": "the-session",
        "Expiration": "2026-11-22T18:00:00Z",
    }
    here = "/latest/meta-data"
    answers = {
        "/latest/api/token": "AQAEA-token",
        f"{here}/iam/security-credentials/": "watcher",
        f"{here}/iam/security-credentials/watcher": json.dumps(role),
        f"{here}/services/domain": "amazonaws.com",
    }
    text = answers.get(request.path)
    return linklocal.ServiceAnswer(404) if text is None else linklocal.ServiceAnswer(200, text)


def asker(call, clock=None, ask=imds, **settings):
    settings = {"describe": True} | settings
    return VolumeTypes(VolumeQuestions(**settings), clock or HandClock(1000.0), ask=ask, call=call)


def identified(document, *facts):
    block = devices(nvme1n1=nvme(aws.EBS_MODEL, serial=ID.replace("-", ""), gib=500))
    told = discover.Facts(disks=facts)
    return discover.identify("aws", {volumes.VOLUMES: document}, block, NITRO_DMI, told)


def machine(document):
    return discover.sold(identified(document), CatalogueFiles())


def sold(document):
    return machine(document).disks["nvme1n1"]


def figures(disk):
    return {limit.dimension: (limit.value, limit.origin) for limit in disk.limits}


def test_the_clis_file_gives_a_volume_its_type_and_provisioned_figures(tmp_path):
    file = tmp_path / "volumes.json"
    file.write_text(json.dumps(CLI))
    disk = sold(of_file(str(file)))

    assert figures(disk) == {
        Dimension.IOPS: (6000, Origin.REPORTED),
        Dimension.THROUGHPUT: (500 * MIB, Origin.REPORTED),
    }
    assert disk.limits[0].source == f"gp3 of 500 GiB, {file}"
    assert disk.info["sku"] == "gp3"


def test_a_file_that_begins_with_a_byte_order_mark_is_read(tmp_path):
    file = tmp_path / "volumes.json"
    file.write_text(json.dumps(CLI), encoding="utf-8-sig")

    assert figures(sold(of_file(str(file))))[Dimension.IOPS] == (6000, Origin.REPORTED)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "volumes.json")

    with pytest.raises(VolumesError, match=r"volumes\.json: no regular file"):
        of_file(str(tmp_path / "volumes.json"))


def test_of_the_answer_nothing_is_kept_that_is_not_needed(tmp_path):
    file = tmp_path / "volumes.json"
    file.write_text(json.dumps(CLI))

    assert "SECRET" not in of_file(str(file))


def test_the_apis_answer_gives_an_io2_volume_block_expresss_throughput():
    disk = sold(volumes.document(volumes.of_api(XML), "EC2 DescribeVolumes"))

    assert figures(disk) == {
        Dimension.IOPS: (10_000, Origin.REPORTED),
        Dimension.THROUGHPUT: (2560 * MIB, Origin.REPORTED),
    }


@pytest.mark.parametrize("others", [(), ("i-0def",)])
def test_a_volume_that_several_instances_have_is_said_to_be_shared(others):
    devices = dict.fromkeys(("i-0abc", *others), "/dev/sdf")
    told = {ID: volumes.EbsVolume("io2", 10_000.0, None, devices)}
    reasons = machine(volumes.document(volumes.EbsVolumes(told), "x")).reasons

    assert bool(reasons) is bool(others)
    assert all(words.startswith("nvme1n1: shared with other VMs") for words in reasons)


def test_what_follows_from_a_volumes_size_is_the_catalogues_word():
    told = {ID: volumes.EbsVolume("gp2", 1500.0, None, {"i-0abc": "/dev/sdf"})}

    assert figures(sold(volumes.document(volumes.EbsVolumes(told), "x")))[Dimension.IOPS] == (
        1500,
        Origin.CATALOGUE,
    )


def on_xen(attachments, **known):
    """A Xen instance with /dev/sdf, in a region of volumes: type by type, what each is attached to."""
    described = [
        {
            "VolumeId": f"vol-{number:08x}",
            "VolumeType": kind,
            "Iops": 3000,
            "Throughput": 125,
            "Attachments": [{"InstanceId": to, "Device": device} for to, device in places],
        }
        for number, (kind, places) in enumerate(attachments.items())
    ]
    text = volumes.document(volumes.of_cli(json.dumps({"Volumes": described})), "v.json")
    block = devices(xvdf={"size": "100", "dev": "202:80"})
    return discover.identify("aws", {volumes.VOLUMES: text} | known, block, {})


OURS, THEIRS = ("i-0abc", "/dev/sdf"), ("i-0other", "/dev/sdf")


@pytest.mark.parametrize(
    "attachments",
    [
        {"gp3": [OURS]},
        {"io2": [THEIRS], "gp3": [OURS], "st1": [THEIRS]},
        {"io2": [("i-0abc", "/dev/sdg")], "gp3": [THEIRS, OURS]},
        {"io2": [], "gp3": [("i-0other", "/dev/sdh"), OURS]},
    ],
)
def test_on_xen_a_volume_is_known_by_the_device_it_was_attached_to_this_instance_as(attachments):
    identity = on_xen(attachments, **{metadata.INSTANCE: "i-0abc"})

    assert identity.disks["xvdf"].sku == "gp3"
    assert identity.reasons == ()


def test_on_xen_no_volume_is_taken_for_ours_where_nobody_tells_which_instance_this_is():
    identity = on_xen({"gp3": [OURS]})

    assert identity.disks["xvdf"].sku == ""
    assert identity.reasons == (
        "aws/instance-id: not told, so it is not known which volumes of v.json are xvdf",
    )


@pytest.mark.parametrize(
    ("attachments", "why"),
    [
        ({"gp3": [THEIRS]}, "lists no volume attached to i-0abc as xvdf or sdf"),
        ({}, "lists no volume attached to i-0abc as xvdf or sdf"),
        ({"": [OURS], "gp3": [THEIRS]}, "says no VolumeType of vol-00000000"),
        ({"": [THEIRS]}, "lists no volume attached to i-0abc as xvdf or sdf"),
    ],
)
def test_on_xen_a_volume_that_a_file_does_not_tell_is_named_with_the_reason(attachments, why):
    identity = on_xen(attachments, **{metadata.INSTANCE: "i-0abc"})
    of_storage = on_xen(
        attachments, **{metadata.INSTANCE: "i-0abc", f"{metadata.MAPPING}/ephemeral0": "sdf"}
    )

    assert discover.sold(identity, CatalogueFiles()).reasons == (
        f"xvdf: v.json {why}: its limits are unknown",
    )
    assert of_storage.disks["xvdf"].untold == ""


def test_a_volume_where_the_mapping_names_instance_storage_is_a_volume():
    mapping = {f"{metadata.MAPPING}/ephemeral0": "sdf"}

    assert on_xen({"gp3": [THEIRS]}, **mapping).disks["xvdf"].role == "local"
    found = on_xen({"gp3": [OURS]}, **mapping, **{metadata.INSTANCE: "i-0abc"}).disks["xvdf"]
    assert (found.role, found.sku) == ("data", "gp3")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"Volumes": 1}'])
def test_a_file_that_holds_something_else_is_named_with_what_was_found(tmp_path, text):
    file = tmp_path / "volumes.json"
    file.write_text(text)
    looker = asker(None, file=str(file))

    assert looker.look("aws", KNOWN, STATIC) == {}
    assert str(file) in looker.reasons[volumes.VOLUMES]


OTHER = {"VolumeId": "vol-0000000000000000a", "VolumeType": "gp2", "Iops": "many"}


@pytest.mark.parametrize(
    ("ours", "why"),
    [
        ([], f"lists no volume {ID}"),
        ([{"Iops": "many"}], f"says of {ID}: iops is 'many', want a number"),
        ([{"VolumeType": None, "VolumeTyp": "gp3"}], f"says no VolumeType of {ID}"),
        ([{"Iops": None, "IOPs ": 6000}], f"says no Iops of {ID}, a gp3"),
        ([{"Throughput": None}], f"says no Throughput of {ID}, a gp3"),
    ],
)
def test_a_volume_that_a_file_does_not_tell_is_named_with_the_reason(tmp_path, ours, why):
    file = tmp_path / "volumes.json"
    file.write_text(json.dumps({"Volumes": [*(CLI["Volumes"][0] | each for each in ours), OTHER]}))
    identity = identified(of_file(str(file)))
    with_fact = identified(of_file(str(file)), DiskFact(disk="nvme1n1", sku="gp3", iops=3000))

    assert discover.sold(identity, CatalogueFiles()).reasons == (
        f"nvme1n1: {file} {why}: its limits are unknown",
    )
    assert discover.sold(with_fact, CatalogueFiles()).reasons == ()


def test_one_volume_that_is_told_wrongly_takes_no_other_ones_limits(tmp_path):
    file = tmp_path / "volumes.json"
    file.write_text(json.dumps({"Volumes": [OTHER, *CLI["Volumes"]]}))

    assert figures(sold(of_file(str(file))))[Dimension.IOPS] == (6000, Origin.REPORTED)


def test_a_file_that_is_not_there_is_named_and_read_once_it_comes(tmp_path):
    file = tmp_path / "volumes.json"
    looker = asker(None, file=str(file))

    assert looker.look("aws", KNOWN, STATIC) == {}
    assert "No such file" in looker.reasons[volumes.VOLUMES]

    file.write_text(json.dumps(CLI))

    assert volumes.VOLUMES in looker.look("aws", KNOWN, STATIC)
    assert looker.reasons == {}


@pytest.mark.parametrize("settings", [{"describe": False}, {}])
@pytest.mark.parametrize("cloud", ["azure", "gcp", ""])
def test_elsewhere_and_unless_configured_nobody_is_asked(cloud, settings):
    def call(*_):
        pytest.fail("the API was asked")

    looker = asker(call, **settings)

    assert looker.look(cloud, KNOWN, STATIC) == {}
    assert asker(call, describe=False).look("aws", KNOWN, STATIC) == {}


def test_one_question_is_for_all_volumes_and_good_for_hours():
    asked, clock = [], HandClock(1000.0)

    def call(url, region, credentials):
        asked.append((url, region, credentials.key))
        return Reply(200, XML)

    looker = asker(call, clock)
    for seconds in (0, 300, 3600):
        clock.now = 1000.0 + seconds
        assert ID in looker.look("aws", KNOWN, STATIC)[volumes.VOLUMES]
    parts = urlsplit(asked[0][0])

    assert len(asked) == 1
    assert asked[0][1:] == ("eu-west-1", "ASIAEXAMPLE")
    assert parts.netloc == "ec2.eu-west-1.amazonaws.com"
    assert parse_qs(parts.query) == {
        "Action": ["DescribeVolumes"],
        "Filter.1.Name": ["attachment.instance-id"],
        "Filter.1.Value.1": ["i-0abc"],
        "MaxResults": ["500"],
        "Version": ["2016-11-15"],
    }

    clock.now += KEPT_SECONDS
    looker.look("aws", KNOWN, STATIC)

    assert len(asked) == 2


# EC2's block device mapping never tells of a volume that is attached to a running instance.
ROOT = {"nvme0n1": nvme(aws.EBS_MODEL, serial="vol0000000000000000a")}
XEN_ROOT = {"xvda": {"size": "100", "dev": "202:0"}}


@pytest.mark.parametrize(
    ("before", "attached"),
    [
        (ROOT, ROOT | {"nvme1n1": nvme(aws.EBS_MODEL, serial=ID.replace("-", ""))}),
        (ROOT, {"nvme0n1": nvme(aws.EBS_MODEL, serial=ID.replace("-", ""))}),
        (XEN_ROOT, XEN_ROOT | {"xvdf": {"size": "100", "dev": "202:80"}}),
    ],
    ids=["Nitro", "Nitro, under the name of another", "Xen"],
)
def test_a_volume_that_is_attached_is_asked_about_before_the_hours_are_over(before, attached):
    asked = []
    looker = asker(lambda *_: asked.append(1) or Reply(200, XML))
    counts = []
    for block in (before, attached, attached):
        looker.look("aws", KNOWN, Static(block=block))
        counts.append(len(asked))

    assert counts == [1, 2, 2]


def test_of_a_volume_that_is_detached_or_a_disk_that_is_none_nobody_is_asked():
    asked = []
    looker = asker(lambda *_: asked.append(1) or Reply(200, XML))
    more = {"nvme1n1": nvme(aws.EBS_MODEL, serial=ID.replace("-", ""))}
    for block in (ROOT | more, ROOT, ROOT | {"loop0": {"size": "100", "dev": "7:0"}}):
        looker.look("aws", KNOWN, Static(block=block))

    assert len(asked) == 1


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (
            Reply(403, DENIED),
            "status 403 UnauthorizedOperation; the role needs ec2:DescribeVolumes",
        ),
        (Reply(503, "<html>"), "status 503"),
        (Reply(200, "<html>"), "no XML"),
        (Reply(200, "<a>" * 100_000 + "</a>" * 100_000), "XML that is nested beyond reason"),
        (Reply(200, "<Response/>"), "Response instead of DescribeVolumesResponse"),
    ],
)
def test_a_refusal_is_told_and_asked_again_later_and_later(reply, why):
    asked, clock = [], HandClock(1000.0)
    looker = asker(lambda *_: asked.append(1) or reply, clock)
    for seconds in (0, 30, 61, 90, 182):
        clock.now = 1000.0 + seconds
        assert looker.look("aws", KNOWN, STATIC) == {}

    assert why in looker.reasons[volumes.VOLUMES]
    assert len(asked) == 3


def test_calls_that_fail_for_a_year_end_nothing():
    asked, clock = [], HandClock(1000.0)
    looker = asker(lambda *_: asked.append(1) or Reply(503, ""), clock)
    for _ in range(1500):
        looker.look("aws", KNOWN, STATIC)
        clock.now += KEPT_SECONDS

    assert len(asked) == 1500


def test_after_an_answer_the_next_refusal_is_asked_again_soon():
    replies = [Reply(503, "")] * 5 + [Reply(200, XML)] + [Reply(503, "")] * 2
    asked, clock = [], HandClock(1000.0)
    looker = asker(lambda *_: asked.append(1) or replies[len(asked) - 1], clock)
    for _ in range(7):
        looker.look("aws", KNOWN, STATIC)
        clock.now += KEPT_SECONDS
    clock.now += 61 - KEPT_SECONDS
    looker.look("aws", KNOWN, STATIC)

    assert len(asked) == 8


def test_no_credential_is_in_what_is_printed_of_them():
    assert "the-secret" not in repr(Credentials("ASIAEXAMPLE", "the-secret", "the-session"))


def test_what_was_told_stays_when_the_api_falls_silent():
    clock = HandClock(1000.0)
    replies = [Reply(200, XML)]

    def call(*_):
        if not replies:
            raise VolumesError("EC2 API: ConnectTimeout")
        return replies.pop()

    looker = asker(call, clock)
    looker.look("aws", KNOWN, STATIC)
    clock.now += KEPT_SECONDS

    assert ID in looker.look("aws", KNOWN, STATIC)[volumes.VOLUMES]
    assert looker.reasons == {volumes.VOLUMES: "EC2 API: ConnectTimeout"}


def test_an_instance_without_a_role_says_so():
    def ask(request):
        gone = "security-credentials" in request.path
        return linklocal.ServiceAnswer(404) if gone else imds(request)

    looker = asker(lambda *_: pytest.fail("asked without credentials"), ask=ask)

    assert looker.look("aws", KNOWN, STATIC) == {}
    assert "no role with credentials" in looker.reasons[volumes.VOLUMES]


@pytest.mark.parametrize(
    ("untold", "why"), [(metadata.REGION, "the region"), (metadata.INSTANCE, "the instance's id")]
)
def test_before_the_machine_is_known_nobody_is_asked(untold, why):
    looker = asker(lambda *_: pytest.fail("asked for nobody"))

    assert looker.look("aws", KNOWN | {untold: ""}, STATIC) == {}
    assert looker.reasons == {
        volumes.VOLUMES: f"the metadata service has not told {why} yet",
    }


def test_the_question_is_signed_for_the_region_with_the_roles_session():
    heard = []

    class Api(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            heard.append(dict(self.headers) | {"path": self.path})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(XML.encode())

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Api) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        looker = VolumeTypes(
            VolumeQuestions(describe=True, endpoint=f"http://127.0.0.1:{server.server_port}"),
            HandClock(1000.0),
            ask=imds,
        )
        found = looker.look("aws", KNOWN, STATIC)
        server.shutdown()
    sign = heard[0]["Authorization"]

    assert looker.reasons == {}
    assert ID in found[volumes.VOLUMES]
    assert sign.startswith("AWS4-HMAC-SHA256 Credential=ASIAEXAMPLE/")
    assert "/eu-west-1/ec2/aws4_request" in sign
    assert "x-amz-security-token" in sign
    assert {key.lower(): value for key, value in heard[0].items()}["x-amz-security-token"] == (
        "the-session"
    )


def test_the_sessions_token_is_shown_to_nobody_whom_the_api_names():
    heard = []

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            heard.append(self.headers["Host"])
            if self.headers["Host"].startswith("127.0.0.1:"):
                self.send_response(302)
                self.send_header("Location", f"http://127.0.0.2:{self.server.server_port}/")
            else:
                self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("0.0.0.0", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        looker = VolumeTypes(
            VolumeQuestions(describe=True, endpoint=endpoint), HandClock(1000.0), ask=imds
        )
        found = looker.look("aws", KNOWN, STATIC)
        server.shutdown()

    assert heard == [endpoint.removeprefix("http://")]
    assert found == {}
    assert looker.reasons == {volumes.VOLUMES: f"{endpoint}: status 302"}


@pytest.mark.parametrize(
    ("domain", "host"),
    [
        ("amazonaws.com.cn", "ec2.eu-west-1.amazonaws.com.cn"),
        ("a@evil.example/", "ec2.eu-west-1.amazonaws.com"),
        ("x\nevil.example", "ec2.eu-west-1.amazonaws.com"),
    ],
)
def test_of_the_metadata_service_a_domain_is_taken_and_no_other_place(domain, host):
    asked = []

    def told(request):
        is_domain = request.path.endswith("/services/domain")
        return linklocal.ServiceAnswer(200, domain) if is_domain else imds(request)

    def call(url, _region, _credentials):
        asked.append(urlsplit(url).netloc)
        return Reply(200, XML)

    looker = VolumeTypes(VolumeQuestions(describe=True), HandClock(1000.0), ask=told, call=call)
    looker.look("aws", KNOWN, STATIC)

    assert asked == [host]


def test_without_the_extra_it_says_what_to_install_and_what_to_do_with_a_package():
    script = (
        "import sys; sys.modules['requests'] = None; from ioplateau.run import volumes; "
        "volumes.call_api('http://127.0.0.1:9', 'eu-west-1', volumes.Credentials('a', 'b', 'c'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )

    assert 'want pip install "ioplateau[ec2]"' in done.stderr
    assert "not with deb, rpm or the single file: cloud.volumes_file there" in done.stderr


def test_an_endpoint_where_nobody_answers_is_a_reason_without_secrets():
    looker = VolumeTypes(
        VolumeQuestions(describe=True, endpoint="http://127.0.0.1:9"), HandClock(1000.0), ask=imds
    )

    assert looker.look("aws", KNOWN, STATIC) == {}
    assert looker.reasons == {volumes.VOLUMES: "EC2 API: ConnectionError"}
    assert "secret" not in repr(looker.reasons)


def test_nobody_finds_out_what_volumes_are_unless_told_how():
    assert volume_types(VolumeQuestions(), HandClock()) is None
    assert volume_types(VolumeQuestions(file="/etc/ioplateau/volumes.json"), HandClock())
    assert volume_types(VolumeQuestions(describe=True), HandClock())


def test_who_looks_once_is_told_of_volumes_beside_the_other_documents(tmp_path):
    def told(request):
        region = request.path.endswith("/placement/region")
        return linklocal.ServiceAnswer(200, "eu-west-1") if region else imds(request)

    file = tmp_path / "volumes.json"
    file.write_text(json.dumps(CLI))
    clock, static = HandClock(1000.0), STATIC._replace(files=NITRO_DMI)
    looker = VolumeTypes(VolumeQuestions(file=str(file)), clock)
    documents, _ = fetch_once(static, clock, looker, ask=told)
    file.unlink()
    gone = VolumeTypes(VolumeQuestions(file=str(file)), clock)
    _, reasons = fetch_once(static, clock, gone, ask=told)

    assert documents[metadata.REGION] == "eu-west-1"
    assert json.loads(documents[volumes.VOLUMES])
    assert f"metadata {volumes.VOLUMES}: {file}: No such file or directory" in reasons
