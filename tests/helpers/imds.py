"""A metadata service as documented, on an address of its own; run inside a network namespace.

python tests/helpers/imds.py DIRECTORY: answers on 169.254.169.254:80 from files of the directory, which a
test may change while it runs: "cloud" (azure, aws or gcp), "phase" (ok, 404, 410, 429, 500, slow,
huge, garbage, silent), "instance.json" (Azure's answer), "type" (EC2's instance type, Google's
machine type), "disks.json" (Google's disks), "volumes.xml" (the EC2 API's DescribeVolumes, below
/ec2). What was asked is appended to "asked", a line each: time, method, path, status.
"""

from __future__ import annotations

import http.server
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

ADDRESS = ("169.254.169.254", 80)
TOKEN = "AQAEAN-the-token"
AWS = {
    "/latest/meta-data/instance-type": "m5.large",
    "/latest/meta-data/placement/region": "eu-west-1",
    "/latest/meta-data/instance-id": "i-0abc",
    "/latest/meta-data/services/domain": "amazonaws.com",
    "/latest/meta-data/iam/security-credentials/": "watcher",
    "/latest/meta-data/iam/security-credentials/watcher": '{"Code": "Success", "Type": "AWS-HMAC",'
    ' "AccessKeyId": "ASIAEXAMPLE", "SecretAccessKey": "the-secret", "Token": "the-session",'
    ' "Expiration": "2026-12-31T00:00:00Z"}',
    "/latest/meta-data/block-device-mapping/": "ami\nebs1\nroot",
    "/latest/meta-data/block-device-mapping/ami": "xvda",
    "/latest/meta-data/block-device-mapping/ebs1": "sdf",
    "/latest/meta-data/block-device-mapping/root": "/dev/xvda",
}


class Service(http.server.BaseHTTPRequestHandler):
    """One question."""

    protocol_version = "HTTP/1.1"
    place: Path

    def do_GET(self) -> None:
        self._answer("GET")

    def do_PUT(self) -> None:
        self._answer("PUT")

    def _answer(self, method: str) -> None:
        status, body = self._decide(method)
        with (self.place / "asked").open("a") as file:
            file.write(f"{time.monotonic():.3f} {method} {self.path} {status}\n")
        if self._said("phase") == "slow":
            time.sleep(7)  # longer than the daemon waits
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        if status == 429:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _decide(self, method: str) -> tuple[int, bytes]:
        phase = self._said("phase")
        if phase in ("404", "410", "429", "500"):
            return int(phase), b'{"error": "in this phase"}'
        if phase == "huge":
            return 200, b" " * (3 << 20)
        if phase == "garbage":
            return 200, b"<html>\xff\x00 not here</html>"
        if "X-Forwarded-For" in self.headers:
            return 400, b'{"error": "Bad request. X-Forwarded-For"}'
        cloud = {"azure": self._azure, "aws": self._aws, "gcp": self._gcp}[self._said("cloud")]
        return cloud(method)

    def _azure(self, method: str) -> tuple[int, bytes]:
        url = urlsplit(self.path)
        asked = parse_qs(url.query)
        if method != "GET":
            return 405, b""
        if self.headers.get("Metadata", "").lower() != "true":
            return 400, b'{"error": "Bad request. Required metadata header not specified"}'
        if len(asked.get("api-version", [])) != 1 or "2021-05-01" not in asked["api-version"]:
            return 400, b'{"error": "Bad request", "newest-versions": ["2021-05-01"]}'
        if url.path != "/metadata/instance":
            return 404, b""
        return 200, (self.place / "instance.json").read_bytes()

    def _aws(self, method: str) -> tuple[int, bytes]:
        if method == "PUT" and self.path == "/latest/api/token":
            seconds = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
            return (200, TOKEN.encode()) if seconds.isdecimal() else (400, b"")
        if self.path.startswith("/ec2/"):
            return self._ec2()
        if self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
            return 401, b""
        told = dict(AWS) | {"/latest/meta-data/instance-type": self._said("type") or "m5.large"}
        found = told.get(self.path)
        return (404, b"") if found is None else (200, found.encode())

    def _ec2(self) -> tuple[int, bytes]:
        """The EC2 API, as far as a client can tell: signed for this region, with the session."""
        asked = parse_qs(urlsplit(self.path).query)
        signed = self.headers.get("Authorization", "")
        is_signed = (
            signed.startswith("AWS4-HMAC-SHA256 Credential=ASIAEXAMPLE/")
            and "/eu-west-1/ec2/aws4_request" in signed
            and self.headers.get("X-Amz-Security-Token") == "the-session"
        )
        if not is_signed:
            return (
                401,
                b"<Response><Errors><Error><Code>AuthFailure</Code></Error></Errors></Response>",
            )
        if asked.get("Action") != ["DescribeVolumes"] or asked.get("Version") != ["2016-11-15"]:
            return 400, b"<Response/>"
        if asked.get("Filter.1.Value.1") != ["i-0abc"]:
            return 200, b"<DescribeVolumesResponse><volumeSet/></DescribeVolumesResponse>"
        return 200, self._said("volumes.xml").encode()

    def _gcp(self, method: str) -> tuple[int, bytes]:
        if method != "GET" or self.headers.get("Metadata-Flavor") != "Google":
            return 403, b"Missing Metadata-Flavor:Google header."
        told = {
            "machine-type": f"projects/123456789012/machineTypes/{self._said('type')}",
            "zone": "projects/123456789012/zones/europe-west1-b",
            "disks/?recursive=true": self._said("disks.json"),
        }
        found = told.get(self.path.removeprefix("/computeMetadata/v1/instance/"))
        return (404, b"") if found is None else (200, found.encode())

    def _said(self, name: str) -> str:
        try:
            return (self.place / name).read_text().strip()
        except OSError:
            return ""

    def log_message(self, *words: object) -> None:
        pass


if __name__ == "__main__":
    Service.place = Path(sys.argv[1])
    http.server.ThreadingHTTPServer(ADDRESS, Service).serve_forever()
