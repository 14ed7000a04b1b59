"""The daemon with a catalogue directory of the user's own: read at the start and on SIGHUP."""

import signal

import pytest

from live_daemon import running_daemon

pytestmark = pytest.mark.live

CONFIG = '[limits]\ncatalogue = "{directory}"\n[cloud]\nenabled = false\n'


def test_own_rows_are_read_at_the_start_and_again_on_sighup(tmp_path):
    directory = tmp_path / "catalogue"
    directory.mkdir()
    file = directory / "azure_vm_sizes.csv"
    file.write_text("name,uncached_iops\nStandard_Own_v1,4711\nStandard_Bad,many\n")
    with running_daemon(CONFIG.format(directory=directory), tmp_path) as daemon:
        daemon.wait_until(lambda found: found.values("ioplateau_catalogue_own_rows") == [1.0], 30)
        file.write_text("name,uncached_iops\nStandard_Own_v1,4712\nStandard_Good,1\n")
        daemon.process.send_signal(signal.SIGHUP)
        found = daemon.wait_until(
            lambda found: found.values("ioplateau_catalogue_own_rows") == [2.0], 30
        )
        log = daemon.log.read_text()

    assert found.value("ioplateau_catalogue_timestamp_seconds") > 1.7e9
    assert "azure_vm_sizes.csv line 3: uncached_iops is 'many'" in log
