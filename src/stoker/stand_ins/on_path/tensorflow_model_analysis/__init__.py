# SPDX-License-Identifier: Apache-2.0
"""What pipeline files find as TFMA where it is not installed; an installed TFMA comes first."""

from stoker.patches.tfma_names import name_of_tfma as __getattr__
