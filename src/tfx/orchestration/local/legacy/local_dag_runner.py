# SPDX-License-Identifier: Apache-2.0
"""The local runner, under an older path."""

from stoker.runner import LocalDagRunner
