"""A metadata service as documented, on an address of its own; run inside a network namespace.

python tests/imds.py DIRECTORY: answers on 169.254.169.254:80 from files of the directory, which a
test may change while it runs: "cloud" (azure or aws), "phase" (ok, 404, 410, 429, 500, slow,
huge, garbage, silent), "instance.json" (Azure's answer), "type" (EC2's instance type). What was
asked is appended to "asked", a line each: time, method, path, status.
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
            time.sleep(3)
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
        return self._azure(method) if self._said("cloud") == "azure" else self._aws(method)

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
        if self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
            return 401, b""
        told = dict(AWS) | {"/latest/meta-data/instance-type": self._said("type") or "m5.large"}
        found = told.get(self.path)
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
