# SPDX-License-Identifier: Apache-2.0
"""The messages that configure steps."""
