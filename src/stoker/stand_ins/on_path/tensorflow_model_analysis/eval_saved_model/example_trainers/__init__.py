# SPDX-License-Identifier: Apache-2.0
"""Models for TFMA's own tests."""

from stoker.stand_ins.tfma.names import needs_tfma

raise needs_tfma(__name__)
