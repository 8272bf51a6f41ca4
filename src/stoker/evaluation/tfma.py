# SPDX-License-Identifier: Apache-2.0
"""Whether TFMA is here; nothing of it is imported to find out."""

import os
from importlib.machinery import PathFinder


def tfma_is_installed() -> bool:
    """Whether the real TFMA is installed, not Stoker's stand-in for its names."""
    found = PathFinder.find_spec("tensorflow_model_analysis")
    places = (found and found.submodule_search_locations) or ()
    return any(os.path.isdir(os.path.join(place, "metrics")) for place in places)
