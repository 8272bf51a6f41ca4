# SPDX-License-Identifier: Apache-2.0
"""What the line of stoker_stand_ins.pth imports, in every interpreter of the environment.

It only waits: nothing of Stoker is imported until a program imports one of TFX's libraries, which
then have the names that they lost, as after `import tfx`.
"""

import sys

TYPE_CHECKING = False  # typing's own costs more than all of this
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_LIBRARIES = (
    "tensorflow_data_validation",
    "tensorflow_model_analysis",
    "tensorflow_transform",
    "tfx_bsl",
)


class _Finder:
    """Asked first, and once; to be an importlib.abc.MetaPathFinder would cost milliseconds."""

    def find_spec(
        self, fullname: str, path: "Sequence[str] | None", target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if fullname not in _LIBRARIES:
            return None
        try:
            import stoker.stand_ins.provide
        except ImportError:
            return None  # it is no longer here, or not all of it: the library works without
        stop_waiting()
        found = (one.find_spec(fullname, path, target) for one in sys.meta_path)
        return next(filter(None, found), None)  # by those too that have just come


_finder = _Finder()


def stop_waiting() -> None:
    """Let imports pass by: what this waits for was done."""
    sys.meta_path[:] = [one for one in sys.meta_path if one is not _finder]


sys.meta_path.insert(0, _finder)
