# SPDX-License-Identifier: Apache-2.0
"""What users' own components are built on, under their old paths."""
