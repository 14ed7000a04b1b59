"""Which EBS volumes are asked for what they count, and when they are asked again."""

import pytest

import states
from hand_clock import HandClock
from ioplateau.limits.clouds.aws import EBS_MODEL
from ioplateau.measure.host import Host
from ioplateau.measure.snapshot import Snapshot, Static
from ioplateau.run.providers import REFUSED_SECONDS, ProviderCounters


class Attached:
    """A machine of which EBS volumes come and go, none of which has a device to ask."""

    def __init__(self, directory):
        self.clock = HandClock()
        self.counters = ProviderCounters(self, Host(directory), self.clock)
        self.sources = {}

    def add(self, source):
        self.sources.setdefault(source.name, source)

    def attach(self, *names):
        disks = {
            name: states.disk(name)._replace(
                device=states.block_device(name)._replace(model=EBS_MODEL)
            )
            for name in names
        }
        static = Static(block={name: {} for name in names})
        self.counters(states.state(disks=disks), Snapshot(0.0, 0.0, 0.0, static))

    def read(self):
        return self.sources["ebs"].read()


@pytest.mark.parametrize("before", [(), ("nvme2n1",)])
def test_a_volume_that_was_just_attached_is_asked_whatever_others_said(tmp_path, before):
    machine = Attached(tmp_path)
    machine.attach("nvme1n1")
    machine.attach(*before)
    machine.read()

    machine.attach(*before, "nvme1n1")
    now = machine.read()

    assert now.keys() == {*before, "nvme1n1"}


def test_volumes_that_all_refuse_are_asked_again_after_a_while(tmp_path):
    machine = Attached(tmp_path)
    machine.attach("nvme1n1")
    first = machine.read()
    machine.clock.now += REFUSED_SECONDS - 1
    soon = machine.read()
    machine.clock.now += 2

    assert soon is first
    assert machine.read() is not first
