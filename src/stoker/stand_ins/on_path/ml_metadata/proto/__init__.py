# SPDX-License-Identifier: Apache-2.0
"""ML Metadata's messages, as far as Stoker has them."""
