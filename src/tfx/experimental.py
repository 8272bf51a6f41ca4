# SPDX-License-Identifier: Apache-2.0
"""TFX's templates are files of its own."""

from stoker.stand_ins.tfx.missing import missing_module

raise missing_module(__name__)
