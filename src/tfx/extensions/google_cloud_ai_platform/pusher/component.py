# SPDX-License-Identifier: Apache-2.0
"""Serving on Google's AI Platform: not in Stoker."""

from stoker.stand_ins.tfx.missing import missing_extension

__getattr__ = missing_extension(__name__)
