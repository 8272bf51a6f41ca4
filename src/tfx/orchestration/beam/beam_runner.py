# SPDX-License-Identifier: Apache-2.0
"""The runner for this machine, under its oldest name."""

from stoker.runner import BeamDagRunner as BeamRunner
