# SPDX-License-Identifier: Apache-2.0
"""TFMA's messages, as far as Stoker has them."""
