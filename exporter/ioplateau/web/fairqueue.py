"""A queue in which each source has its turn, however many jobs another one has brought."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Generic, TypeVar

T = TypeVar("T")
LEAST_LOOKED_AT = 32


class FairQueue(Generic[T]):
    """First come, first served within a source; sources take turns. Any thread may call.

    is_wanted: whether a job that waits is still worth doing. Others are left out before the queue is twice as
    long as what was wanted at one time, or LEAST_LOOKED_AT.
    """

    def __init__(self, is_wanted: Callable[[T], bool] = lambda _: True) -> None:
        self._is_wanted = is_wanted
        self._changed = threading.Condition()
        self._size, self._most = 0, LEAST_LOOKED_AT
        self._jobs: dict[str, deque[T]] = {}  # the source whose turn is next first

    def put(self, source: str, job: T) -> None:
        with self._changed:
            self._jobs.setdefault(source, deque()).append(job)
            self._size += 1
            if self._size > self._most:
                self._leave_out()
            self._changed.notify()

    def get(self) -> T:
        """The next job; waits for one."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs)
            source = next(iter(self._jobs))
            jobs = self._jobs.pop(source)
            job = jobs.popleft()
            self._size -= 1
            if jobs:
                self._jobs[source] = jobs  # behind all others
            return job

    def _leave_out(self) -> None:
        wanted = {
            source: deque(filter(self._is_wanted, jobs)) for source, jobs in self._jobs.items()
        }
        self._jobs = {source: jobs for source, jobs in wanted.items() if jobs}
        self._size = sum(map(len, self._jobs.values()))
        self._most = max(self._most, 2 * self._size)


def source_of(address: object) -> str:
    """Whom a socket's address (of accept) belongs to: the host, or in IPv6 its network of 64 bits,
    within which a host takes as many addresses as it likes.
    """
    try:
        host = ip_address(str(address[0]).partition("%")[0])  # type: ignore[index]
    except (ValueError, TypeError, IndexError):
        return ""
    if not isinstance(host, IPv6Address):
        return str(host)
    if host.ipv4_mapped is not None:
        return str(host.ipv4_mapped)
    return host.packed[:8].hex(":", 2)
