# SPDX-License-Identifier: Apache-2.0
"""The pieces that views are made of: a frame that brings its style, headings, tables, cards."""

import html
from collections.abc import Iterable, Mapping

from stoker.any_python.lines import escape_controls
from stoker.views.style import PAGE_STYLE, STYLE
from stoker.views.table import Table

_NUM_COLOURS = 10


class Html(str):
    """A cell that is HTML already; any other text is escaped."""

    __slots__ = ()


def escape(text: str) -> str:
    """Any text as HTML that shows it as it is."""
    return html.escape(escape_controls(text))


def frame(content: str) -> str:
    """A fragment that looks the same wherever it is put."""
    return f'<style>{STYLE}</style><div class="stoker">{content}</div>'


def page(title: str, view: str) -> str:
    """A fragment as a page of its own: no script, and nothing that has to be fetched."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{PAGE_STYLE}</style></head>"
        f"<body>{view}</body></html>\n"
    )


def heading(title: str, about: str) -> str:
    """What is shown, and a line about it."""
    return f'<h1>{escape(title)}</h1><p class="about">{escape(about)}</p>'


def subheading(title: str, about: str) -> str:
    """The same in one line."""
    return f'<h3>{escape(title)}<span class="kind">{escape(about)}</span></h3>'


def table_view(table: Table) -> str:
    """A table, or only its title if it has no rows."""
    title = f"<h2>{escape(table.title)}</h2>" if table.title else ""
    return f'{title}<div class="scroll" tabindex="0">{_rows(table)}</div>' if table.rows else title


def _rows(table: Table) -> str:
    # A column of colours has no name.
    head = "".join(f"<th>{escape(name)}</th>" if name else "<td></td>" for name in table.columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    return f"<td>{text if isinstance(text, Html) else escape(text)}</td>"


def assign_colours(splits: Iterable[str]) -> dict[str, str]:
    """The style class of each split."""
    return {split: f"split-{number % _NUM_COLOURS}" for number, split in enumerate(splits)}


def key(split: str, colours: Mapping[str, str]) -> Html:
    """A spot in the colour of a split."""
    return Html(f'<span class="key {colours[split]}" title="{escape(split)}"></span>')


def legend(texts: Mapping[str, str], colours: Mapping[str, str]) -> str:
    """Each split's colour, and a text about it."""
    parts = (f"{key(split, colours)}{escape(text)}" for split, text in texts.items())
    return f"<p>{' &emsp; '.join(parts)}</p>"


def cards(content: Iterable[str], title: str = "") -> str:
    """Cards side by side, as many as there is room for."""
    return (
        f'{f"<h2>{escape(title)}</h2>" if title else ""}<div class="cards">{"".join(content)}</div>'
    )


def card(name: str, kind: str, chart: str, table: Table) -> str:
    """One thing with its chart and its numbers."""
    rows = f'<div class="scroll" tabindex="0">{_rows(table)}</div>'
    return f'<section class="card">{subheading(name, kind)}{chart}{rows}</section>'
