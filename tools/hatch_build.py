"""What hatch runs to build a wheel: with the native twins in it, or for every machine without it.

IOPLATEAU_CC is the compiler (see native.py), IOPLATEAU_WHEEL the platform that it compiles for, as
it stands in the wheel's name: manylinux_2_17_aarch64. Without it this machine's; "any": no twins.
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
    """Adds the twins to the wheel where a compiler made them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        platform = os.environ.get("IOPLATEAU_WHEEL", "")
        if platform == "any":
            return
        if version == "editable":
            NATIVE["main"]()
            return
        if not platform and NATIVE["IS_FREE_THREADED"]:
            return
        self.place = tempfile.TemporaryDirectory()
        made = {
            Path(self.place.name) / NATIVE["built"](source).name: source
            for source in NATIVE["SOURCES"]
        }
        for target, source in made.items():
            if why := NATIVE["build"](source, target):
                if platform:
                    raise RuntimeError(f"no native twins for {platform}: {why}")
                self.app.display_warning(f"a wheel without native twins: {why}")
                return
        platform = platform or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"
        for target, source in made.items():
            place = f"ioplateau/{source.parent.name}/{target.name}"
            build_data["force_include"][str(target)] = place
