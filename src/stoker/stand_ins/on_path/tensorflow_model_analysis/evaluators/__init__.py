# SPDX-License-Identifier: Apache-2.0
"""What computes metrics: TFMA's own."""

from stoker.stand_ins.tfma.names import needs_tfma

raise needs_tfma(__name__)
