# SPDX-License-Identifier: Apache-2.0
"""What pipeline files find as ML Metadata where it is not installed; a real one comes first."""

from typing import Any

from stoker.stand_ins.missing_modules import tell_of_missing_modules
from stoker.views.users_errors import tell_users_errors
from ml_metadata.version import __version__

tell_users_errors()
tell_of_missing_modules(__name__)


def __getattr__(name: str) -> Any:
    """The rest when it is asked for: a pipeline file that names a message opens no store."""
    import importlib

    if name in ("errors", "metadata_store", "proto"):
        return importlib.import_module(f"ml_metadata.{name}")
    if name in ("ListOptions", "MetadataStore", "OrderByField", "downgrade_schema"):
        return getattr(importlib.import_module("stoker.stand_ins.mlmd.store"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
