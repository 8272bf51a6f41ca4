# SPDX-License-Identifier: Apache-2.0
"""The runner for this machine."""

from stoker.runner import LocalDagRunner
