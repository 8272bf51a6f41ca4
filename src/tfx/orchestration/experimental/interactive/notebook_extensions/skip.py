# SPDX-License-Identifier: Apache-2.0
"""The cell magic %%skip_for_export."""

from stoker.notebook.skip import load_ipython_extension, unload_ipython_extension
