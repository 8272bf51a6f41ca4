# SPDX-License-Identifier: Apache-2.0
"""The version of TFDV whose answers these are."""

# The local part after the plus sign says who answers.
__version__ = "1.16.1+stoker"
