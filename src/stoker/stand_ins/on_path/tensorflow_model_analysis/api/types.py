# SPDX-License-Identifier: Apache-2.0
"""Types that code of others names."""

from stoker.models.tfma_types import *
