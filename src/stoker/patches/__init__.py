# SPDX-License-Identifier: Apache-2.0
"""Every change to a third party, one file per library; registry.py lists them all."""
