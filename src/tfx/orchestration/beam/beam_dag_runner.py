# SPDX-License-Identifier: Apache-2.0
"""The runner for this machine, under an old name."""

from stoker.runner import BeamDagRunner
