# SPDX-License-Identifier: Apache-2.0
"""ML Metadata's own way to read a store: not in Stoker."""

from stoker.stand_ins.tfx.missing import missing_module

raise missing_module(__name__)
