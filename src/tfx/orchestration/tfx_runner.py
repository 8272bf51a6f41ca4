# SPDX-License-Identifier: Apache-2.0
"""The class of runners."""

from stoker.runner import LocalDagRunner as TfxRunner
