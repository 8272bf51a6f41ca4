# SPDX-License-Identifier: Apache-2.0
"""What components are built on."""
