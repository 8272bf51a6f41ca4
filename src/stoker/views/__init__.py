# SPDX-License-Identifier: Apache-2.0
"""What data looks like, for people: tables of text for terminals, HTML for pages and notebooks.

    artifact ─ preview ─▶ Table ─▶ a terminal
    artifact ─ html_view ─▶ a fragment of HTML ─ html_page ─▶ a page that needs no other file

artifact_views.py has these, and says which view each type of artifact has. data_tables.py and
model_tables.py make tables; statistics_view.py and model_views.py draw, of the pieces in markup.py
and charts.py, as style.py says.

Nothing here imports TensorFlow.
"""
