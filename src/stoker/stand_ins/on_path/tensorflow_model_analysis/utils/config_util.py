# SPDX-License-Identifier: Apache-2.0
"""What code of others asks of a configuration."""

from stoker.models.tfma_utils import *
