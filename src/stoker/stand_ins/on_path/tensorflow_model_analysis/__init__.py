# SPDX-License-Identifier: Apache-2.0
"""What pipeline files find as TFMA where it is not installed; an installed TFMA comes first."""

from stoker.stand_ins.tfma.names import find_name as __getattr__
