# SPDX-License-Identifier: Apache-2.0
"""Steps written as functions."""
