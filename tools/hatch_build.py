"""What hatch runs to build a wheel: with the native twin in it, or for every machine without it.

IOPLATEAU_CC is the compiler (see native.py), IOPLATEAU_WHEEL the platform that it compiles for, as
it stands in the wheel's name: manylinux_2_17_aarch64. Without it this machine's; "any": no twin.
"""

from __future__ import annotations

import os
import runpy
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = runpy.run_path(str(Path(__file__).with_name("native.py")))


class NativeTwin(BuildHookInterface):  # type: ignore[misc,type-arg]
    """Adds the twin to the wheel where a compiler made it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        platform = os.environ.get("IOPLATEAU_WHEEL", "")
        if platform == "any":
            return
        if version == "editable":
            NATIVE["main"]()
            return
        self.place = tempfile.TemporaryDirectory()
        made = Path(self.place.name) / NATIVE["BUILT"].name
        if why := NATIVE["build"](made):
            if platform:
                raise RuntimeError(f"no native twin for {platform}: {why}")
            self.app.display_warning(f"a wheel without the native twin: {why}")
            return
        platform = platform or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"
        build_data["force_include"][str(made)] = f"ioplateau/measure/{made.name}"
