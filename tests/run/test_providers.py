"""Which volumes of EC2 are asked for what they count, and when they are asked again."""

import pytest

import states
from hand_clock import HandClock
from ioplateau.limits.clouds.aws import EBS_MODEL, STORE_MODEL
from ioplateau.measure import ebs
from ioplateau.measure.host import Host
from ioplateau.measure.snapshot import Snapshot, Static
from ioplateau.run.providers import REFUSED_SECONDS, ProviderCounters


class Attached:
    """A machine of which volumes come and go, none of which has a device to ask."""

    def __init__(self, directory, read_all=ebs.read_all):
        self.clock = HandClock()
        self.counters = ProviderCounters(self, Host(directory), self.clock, read_all)
        self.sources = {}

    def add(self, source):
        self.sources.setdefault(source.name, source)

    def attach(self, *names, stores=()):
        models = dict.fromkeys(names, EBS_MODEL) | dict.fromkeys(stores, STORE_MODEL)
        disks = {
            name: states.disk(name)._replace(device=states.block_device(name)._replace(model=model))
            for name, model in models.items()
        }
        static = Static(block={name: {} for name in models})
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


def test_an_instance_store_that_does_not_count_is_asked_once_and_said_nothing_of(tmp_path):
    asked = []

    def read_all(devices, *_, store):
        asked.append(tuple(devices))
        return {name: {} for name in devices if name not in store}

    machine = Attached(tmp_path, read_all)
    machine.attach("nvme0n1", stores=("nvme1n1",))
    found = [machine.read(), machine.read()]
    machine.attach("nvme0n1", stores=("nvme1n1", "nvme2n1"))
    machine.read()

    assert all(each.keys() == {"nvme0n1"} for each in found)
    assert asked == [("nvme0n1", "nvme1n1"), ("nvme0n1",), ("nvme0n1", "nvme2n1")]
