# SPDX-License-Identifier: Apache-2.0
"""How distributions are compared: not in this version."""

from stoker.stand_ins.tfx.missing import missing_module

raise missing_module(__name__)
