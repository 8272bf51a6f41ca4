# SPDX-License-Identifier: Apache-2.0
"""pandas 2: frames and series have `append` and `iteritems`, as TFX's pandas 1 had.

What `append` did is still there under a private name, and `iteritems` was `items`.
"""

from types import ModuleType

from stoker.patches.changes import after_import
from stoker.patches.registry import PATCHES


def give_back_append() -> None:
    """Let it be so once pandas is imported, which this does not do."""
    after_import("pandas", _add_methods)


def _add_methods(pandas: ModuleType) -> None:
    patch = PATCHES["pandas-methods"]
    if not patch.fits(pandas.__version__):  # pandas 1 has them; of others nobody knows
        return
    for owner in (pandas.DataFrame, pandas.Series):
        patch.check_names(owner, "_append")
        owner.append = owner._append
        owner.iteritems = owner.items
