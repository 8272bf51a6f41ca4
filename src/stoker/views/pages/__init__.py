# SPDX-License-Identifier: Apache-2.0
"""Pages about runs, for `stoker ui` and for reports: what they say, and how it is drawn.

    store and files ─ *_reading.py ─▶ records ─ *_page.py ─▶ values ─ templates/ ─▶ HTML

run_query.py     what is asked of a table of runs
run_table.py     the runs that fit
run_reading.py   one run: steps, edges, metrics, curves, logs
comparing.py     what differs between runs
run_page.py      a run as values for its template; also of the report
report.py        a run as one file
pictures.py      graphs and timelines
rendering.py     templates, with everything escaped
"""
