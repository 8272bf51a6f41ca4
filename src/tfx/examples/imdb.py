# SPDX-License-Identifier: Apache-2.0
"""One of TFX's examples: not in Stoker."""

from stoker.stand_ins.tfx.missing import missing_module

raise missing_module(__name__)
