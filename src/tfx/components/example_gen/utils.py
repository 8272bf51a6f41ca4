# SPDX-License-Identifier: Apache-2.0
"""What ExampleGens that read with Beam are made of: not in Stoker."""

from stoker.stand_ins.tfx.missing import missing_module

raise missing_module(__name__)
