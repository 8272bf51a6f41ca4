# SPDX-License-Identifier: Apache-2.0
"""What data looks like, for people: tables of text for terminals, HTML for pages and notebooks.

    artifact ─ preview ─▶ Table ─▶ a terminal
    artifact ─ html ─▶ a fragment of HTML ─ page ─▶ a page that needs no other file

tables.py is about data and models.py about models, both as text; statistics_view.py and
model_views.py draw them, of the pieces in markup.py and charts.py, as style.py says.

Nothing here imports TensorFlow.
"""
