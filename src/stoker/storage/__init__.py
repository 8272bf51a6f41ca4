# SPDX-License-Identifier: Apache-2.0
"""Places: what lies where below a pipeline root, locks, digests, files written whole or not."""
