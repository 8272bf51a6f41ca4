# SPDX-License-Identifier: Apache-2.0
"""Drivers, which Stoker has not."""

from stoker.stand_ins.tfx.missing import missing_module

raise missing_module(__name__)
