# SPDX-License-Identifier: Apache-2.0
"""The Beam runner, under an older path."""

from stoker.runner import BeamDagRunner
