"""The daemon's questions to the cloud, on a thread of their own."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType

import pytest

from ioplateau.measure import metadata
from ioplateau.measure.snapshot import Static
from ioplateau.run.clock import SystemClock
from ioplateau.run.cloud import Metadata

AZURE_DMI = {"/sys/class/dmi/id/chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77\n"}
SLOW_SECONDS = 1.5  # longer than a command waits
ANSWER = {"compute": {"vmSize": "Standard_D8s_v5", "storageProfile": {"dataDisks": []}}}


class Slow(BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(SLOW_SECONDS)
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def service(monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(metadata, "LINK_LOCAL", f"http://127.0.0.1:{server.server_port}")
        yield
        server.shutdown()


def told(volumes=None):
    """What was told first of a machine of Azure."""
    found, arrived = [], threading.Event()

    def tell(documents):
        found.append(documents)
        arrived.set()

    asking = Metadata(SystemClock(), tell, 300.0, volumes, again_seconds=0.01)
    asking.begin(Static(files=AZURE_DMI))
    is_told = arrived.wait(30.0)
    asking.end()
    assert is_told
    return found[0]


@pytest.mark.usefixtures("service")
def test_the_daemon_waits_for_a_service_that_takes_more_than_a_second():
    assert "Standard_D8s_v5" in told()["azure/instance"]


class OddOnce:
    """Volumes whose first answer nobody expects."""

    reasons = MappingProxyType({})

    def __init__(self):
        self.looks = 0

    def look(self, *_):
        self.looks += 1
        if self.looks == 1:
            raise ArithmeticError("odd")
        return {"volumes": "known"}


@pytest.mark.usefixtures("service")
def test_a_defect_in_an_answer_does_not_end_the_asking():
    assert told(OddOnce())["volumes"] == "known"
