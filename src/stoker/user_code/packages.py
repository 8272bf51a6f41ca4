# SPDX-License-Identifier: Apache-2.0
"""The versions of the installed packages that a user's module imports."""

import functools
import importlib.metadata
import os
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path

from stoker.user_code.imports import scan

PIP_NAMES = {
    "PIL": "pillow",
    "absl": "absl-py",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    os.path.join("google", "protobuf"): "protobuf",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}
"""What is not called as the module in it; of others it is looked up, which takes longer."""


def find_package_versions(module_file: str, import_paths: Sequence[str] = ()) -> dict[str, str]:
    """The packages that a module and its neighbours import, by name, each with its version."""
    modules = scan(module_file, import_paths).third_party
    found = {}
    for module in dict.fromkeys(_find_package(name) for name in modules):
        folder = _find_folder(module, (*import_paths,))
        if folder:
            found[module.replace(os.sep, ".")] = _find_version(module, folder)
    return found


def _find_package(dotted_name: str) -> str:
    """The path of a package below the folder that it is installed in."""
    parts = dotted_name.split(".")
    return os.path.join(*parts[:2]) if parts[0] == "google" else parts[0]


@functools.cache
def _find_folder(module: str, import_paths: tuple[str, ...]) -> str | None:
    """Where a package is installed."""
    name = module.partition(os.sep)[0]
    spec = PathFinder.find_spec(name, [*import_paths])
    places = [*(spec.submodule_search_locations or ()), spec.origin] if spec else []
    return next((os.path.dirname(str(place)) for place in places if place), None)


@functools.cache
def _find_version(module: str, folder: str) -> str:
    """The version of the distribution that a package is from; where there is none, its age."""
    name = PIP_NAMES.get(module, module)
    found = [*importlib.metadata.distributions(name=name, path=[folder])]
    for distribution in found or _search(module, folder):
        return distribution.version
    place = os.path.join(folder, module)
    places = (os.path.join(place, "__init__.py"), f"{place}.py", place)
    return next((f"of {os.stat(one).st_mtime_ns}" for one in places if os.path.exists(one)), "")


def _search(module: str, folder: str) -> list[importlib.metadata.Distribution]:
    """The distributions in a folder among whose files a package is."""
    lines = [f"\n{module}{end}".encode() for end in ("/", ".py,", ".cpython-")]
    return [
        importlib.metadata.Distribution.at(record.parent)
        for record in Path(folder).glob("*.dist-info/RECORD")
        if any(line in content for content in [b"\n" + record.read_bytes()] for line in lines)
    ]
