"""What runs of the single file: everything from inside the archive, nothing of this machine's
Python packages, nothing written anywhere.

Python imports its own modules from an archive, but the dynamic loader wants a file for compiled
ones. They get one in memory (memfd_create): it has no name that somebody could replace, needs no
writable directory that allows execution, and is gone with the process.
"""

import fcntl
import importlib.machinery
import os
import platform
import sys
import zipimport

if sys.version_info < (3, 11):  # noqa: UP036 - a strange machine may have any
    for newer in ("3.14", "3.13", "3.12", "3.11"):
        if os.path.exists(f"/usr/bin/python{newer}"):
            os.execv(f"/usr/bin/python{newer}", ["python3", "-I", "-B", *sys.argv])
    sys.exit(f"ioplateau: Python {platform.python_version()} is too old, want 3.11 or newer")

ARCHIVE = zipimport.zipimporter(sys.path[0])
# The archive and the standard library: a site-packages of this machine may hold anything.
sys.path[:] = [place for place in sys.path if "-packages" not in place]


class Compiled:
    """Finds compiled modules in the archive, below compiled/<machine>/."""

    @staticmethod
    def find_spec(name, path=None, target=None):  # noqa: ARG004
        inside = f"compiled/{platform.machine()}/{name.replace('.', '/')}.abi3.so"
        try:
            content = ARCHIVE.get_data(inside)
            memory = os.memfd_create(name, os.MFD_CLOEXEC)
        # There is none; a sandbox refuses such files; this Python was made for an older system.
        except (OSError, AttributeError):
            return None
        with os.fdopen(memory, "wb") as file:
            file.write(content)
            # Never 0 to 2, which are standard streams, also where one of them is closed (>&-).
            descriptor = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 3)
        # Stays open: its number is the module's path for as long as we live.
        file = f"/proc/self/fd/{descriptor}"
        loader = importlib.machinery.ExtensionFileLoader(name, file)
        return importlib.machinery.ModuleSpec(name, loader, origin=file)


# They are of 64 bits and have the stable ABI, which a free-threaded Python lacks: it would crash with them.
if sys.maxsize > 2**32 and "t" not in sys.abiflags:
    sys.meta_path.insert(0, Compiled)

from ioplateau.cli import main  # noqa: E402

sys.exit(main())
