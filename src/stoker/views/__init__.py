# SPDX-License-Identifier: Apache-2.0
"""What data looks like, for people: tables of text for terminals, HTML for pages and notebooks.

    artifact ─ tables ─▶ Table ─▶ a terminal
    artifact ─ html ─▶ a fragment of HTML ─ page ─▶ a page that needs no other file

Nothing here imports TensorFlow.
"""
