"""A VM's limit that nobody told, over several disks that are asked at once."""

import math
import statistics

import pytest

from many_disks import SECONDS, vm_throttled_seconds


@pytest.mark.parametrize("seed", range(100, 106))
@pytest.mark.parametrize("is_shared", [False, True], ids=["own requests", "shared workers"])
def test_disks_without_a_limit_are_not_held_by_the_vm_however_still_their_sum_is(seed, is_shared):
    assert vm_throttled_seconds(seed, is_shared=is_shared) == []


@pytest.mark.parametrize("is_shared", [False, True], ids=["own requests", "shared workers"])
def test_a_limit_over_many_disks_is_found_within_ten_seconds_mostly(is_shared):
    found = [
        vm_throttled_seconds(seed, is_shared=is_shared, is_limited=True) for seed in range(100, 109)
    ]

    assert statistics.median([min(seconds, default=math.inf) for seconds in found]) <= 10


def test_a_rate_of_an_applications_own_over_disks_that_vary_is_no_limit_of_the_vm():
    """The sum stands and the disks move against each other, and requests take a third longer than the least."""
    told = [vm_throttled_seconds(seed, is_shared=True, is_paced=True) for seed in range(104, 116)]

    assert sum(map(len, told)) <= 0.01 * len(told) * SECONDS
