# SPDX-License-Identifier: Apache-2.0
"""What notebooks call."""

from stoker.stand_ins.tfma.names import find_name as __getattr__
