# SPDX-License-Identifier: Apache-2.0
"""What TFX's runners share."""
