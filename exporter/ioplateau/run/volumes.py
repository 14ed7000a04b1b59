"""Finds out what EBS volumes were sold as: from a file, or from the EC2 API by the instance's role.

Both are off unless configured. Called on the thread that asks for metadata, never on the
sampling loop; one question for all volumes, and its answer is good for hours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ioplateau.limits.clouds import lenientjson
from ioplateau.limits.clouds.aws import volumes
from ioplateau.limits.clouds.aws.metadata import INSTANCE, REGION, TOKEN, identify
from ioplateau.measure import linklocal, sysblock
from ioplateau.measure.metadata import Document, Fetcher, only
from ioplateau.measure.snapshot import Static
from ioplateau.regular import read_regular
from ioplateau.run.clock import Clock
from ioplateau.run.settings import VolumeQuestions

KEPT_SECONDS = 6 * 3600.0
FIRST_RETRY_SECONDS = 60.0
SIZE_LIMIT = 4 << 20  # a volume with many tags takes 2 KiB
CONNECT_SECONDS, ANSWER_SECONDS = 3.0, 10.0

ROLE, DOMAIN = "role", "domain"
HERE = "/latest/meta-data"
# It becomes a part of the URL that is asked.
_DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
PRIVATE = (
    Document(ROLE, f"{HERE}/iam/security-credentials/", token=TOKEN, is_listing=True),
    Document(DOMAIN, f"{HERE}/services/domain", token=TOKEN, keep=only(_DOMAIN, "a domain")),
)


class Credentials(NamedTuple):
    """Of the instance's role, for an hour or so. Never kept, logged or recorded."""

    key: str
    secret: str
    token: str

    def __repr__(self) -> str:
        return "Credentials(...)"


class Reply(NamedTuple):
    """What the API said."""

    status: int
    text: str


Call = Callable[[str, str, Credentials], Reply]


class VolumesError(Exception):
    """Why it cannot be told, in words."""


class VolumeTypes:
    """The document "aws/volumes", kept current. `look` may take seconds and never raises."""

    def __init__(
        self,
        settings: VolumeQuestions,
        clock: Clock,
        *,
        ask: Callable[
            [linklocal.ServiceRequest], linklocal.ServiceAnswer | linklocal.NoAnswer
        ] = linklocal.ask,
        call: Call | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._ask = ask
        self._call = call or call_api
        self._due = float("-inf")
        self._failures = 0
        self._attached: frozenset[tuple[str, str]] = frozenset()
        self._found: dict[str, str] = {}
        self.reasons: Mapping[str, str] = {}

    def look(self, cloud: str, known: Mapping[str, str], static: Static) -> Mapping[str, str]:
        """The document, where one is to be had; what was told stays when nobody answers.
        static: shows a volume that was just attached.
        """
        settings = self._settings
        if cloud != "aws" or not (settings.file or settings.describe):
            return {}
        if not settings.file and not self._is_due(known, static):
            return self._found
        try:
            text = of_file(settings.file) if settings.file else self._described(known)
        except VolumesError as error:
            self._failures += 1
            self._due = self._clock.mono() + min(
                FIRST_RETRY_SECONDS * 2.0 ** min(self._failures - 1, 10), KEPT_SECONDS
            )
            self.reasons = {volumes.VOLUMES: str(error)}
            return self._found
        self._failures = 0
        self._due = self._clock.mono() + KEPT_SECONDS
        self.reasons = {}
        self._found = {volumes.VOLUMES: text}
        return self._found

    def _is_due(self, known: Mapping[str, str], static: Static) -> bool:
        attached = _attached(known, static)
        is_more, self._attached = bool(attached - self._attached), attached
        # A volume that was just attached is asked about at once, but not while calls fail.
        return self._clock.mono() >= self._due or (is_more and not self._failures)

    def _described(self, known: Mapping[str, str]) -> str:
        region = known.get(REGION, "").strip()
        if not region:
            raise VolumesError("the metadata service has not told the region yet")
        instance = known.get(INSTANCE, "").strip()
        if not instance:
            raise VolumesError("the metadata service has not told the instance's id yet")
        documents = self._private()
        endpoint = self._settings.endpoint or (
            f"https://ec2.{region}.{documents.get(DOMAIN, '').strip() or 'amazonaws.com'}"
        )
        url = endpoint.rstrip("/") + volumes.query(instance)
        reply = self._call(url, region, _credentials(documents))
        if reply.status != 200:
            why = volumes.refusal(reply.text)
            raise VolumesError(
                f"{endpoint}: status {reply.status} {why}".rstrip()
                + ("; the role needs ec2:DescribeVolumes" if reply.status == 403 else "")
            )
        try:
            return volumes.document(volumes.of_api(reply.text), "EC2 DescribeVolumes")
        except ValueError as error:
            raise VolumesError(f"{endpoint}: {error}") from None

    def _private(self) -> Mapping[str, str]:
        """What is asked for anew each time and forgotten at once: the role's credentials."""
        fetcher = Fetcher(PRIVATE)
        while (request := fetcher.next(self._clock.mono())) is not None:
            fetcher.take(self._clock.mono(), self._ask(request))
        return fetcher.known()


def _attached(known: Mapping[str, str], static: Static) -> frozenset[tuple[str, str]]:
    """The disks of this instance, as the kernel tells them from others."""
    # block-device-mapping/ebsN is of volumes that were there when the instance was last started:
    # instancedata-data-categories.html.
    devices = sysblock.parse(static)
    disks = identify(known, devices).disks
    return frozenset((name, sysblock.identity(devices[name])) for name in disks)


def of_file(place: str) -> str:
    """The document, out of what `aws ec2 describe-volumes --output json` wrote."""
    try:
        raw = read_regular(place, SIZE_LIMIT)
    except OSError as error:
        raise VolumesError(f"{place}: {error.strerror or error}") from None
    try:
        return volumes.document(volumes.of_cli(raw.decode("utf-8-sig", "replace")), place)
    except ValueError as error:
        raise VolumesError(f"{place}: {error}") from None


def _credentials(documents: Mapping[str, str]) -> Credentials:
    role = next((name for name in documents if name.startswith(f"{ROLE}/")), "")
    fields = lenientjson.document(documents.get(role, ""))
    names = ("accesskeyid", "secretaccesskey", "token")
    found = (
        [lenientjson.text(fields.get(name)) for name in names] if isinstance(fields, dict) else []
    )
    if len(found) < 3 or not all(found):
        raise VolumesError("the instance has no role with credentials")
    return Credentials(*found)


def call_api(url: str, region: str, credentials: Credentials) -> Reply:
    """One signed GET (Signature Version 4). Raises VolumesError."""
    try:
        import requests
        from requests_aws4auth import AWS4Auth
    except ImportError:
        raise VolumesError(
            "cloud.describe_volumes needs requests and requests-aws4auth: want pip install "
            '"ioplateau[ec2]"; not with deb, rpm or the single file: cloud.volumes_file there'
        ) from None
    auth = AWS4Auth(
        credentials.key, credentials.secret, region, "ec2", session_token=credentials.token
    )
    try:
        with requests.get(
            url,
            auth=auth,
            timeout=(CONNECT_SECONDS, ANSWER_SECONDS),
            stream=True,
            # Whoever it is sent on to would be shown the session's token.
            allow_redirects=False,
        ) as answer:
            body = b""
            for part in answer.iter_content(1 << 16):
                body += part
                if len(body) > SIZE_LIMIT:
                    raise VolumesError(f"more than {SIZE_LIMIT:,} bytes from the EC2 API")
            return Reply(answer.status_code, body.decode("utf-8", "replace"))
    except requests.RequestException as error:
        # Its words may hold the whole URL, which says nothing that is secret: no credentials.
        raise VolumesError(f"EC2 API: {type(error).__name__}") from None
