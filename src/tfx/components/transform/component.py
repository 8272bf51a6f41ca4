# SPDX-License-Identifier: Apache-2.0
"""Transform as a pipeline sees it."""

from stoker.components.transform.component import Transform
