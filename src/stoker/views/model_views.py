# SPDX-License-Identifier: Apache-2.0
"""Models as HTML: what they take and give, how their training went, how good they are."""

import math
import os
from collections.abc import Sequence
from dataclasses import replace

from stoker.artifacts import Artifact
from stoker.metadata.masking import mask_secrets
from stoker.views.charts import curves_chart
from stoker.views.data_tables import Detail
from stoker.views.markup import (
    Html,
    assign_colours,
    card,
    cards,
    escape,
    key,
    legend,
    table_view,
)
from stoker.views.model_tables import (
    CURVE_COLUMNS,
    REPORTS,
    SIGNATURES,
    VERDICTS,
    evaluation_tables,
    formats_tables,
    read_curves,
    signatures_tables,
    summarize_curve,
    verdict_on,
)
from stoker.views.table import Table, one_line, readable_size

_NUM_FILES = 12
_BAR_WIDTH = 84
_NOT_FACTS = (SIGNATURES, REPORTS, "content_digest", "blessed")
"""Properties that are shown as something else, or tell a reader nothing."""


def model_view(model: Artifact) -> str:
    """A model's signatures, its other formats, and what its check said."""
    tables = [*signatures_tables(model, Detail()), *formats_tables([model])]
    return "".join(map(table_view, tables)) + facts_view(model)


def training_view(artifact: Artifact) -> str:
    """A card for each metric, with its series in one chart."""
    curves = read_curves(artifact.uri)
    if not curves:
        return facts_view(artifact)
    names = list(dict.fromkeys(series for by_series in curves.values() for series in by_series))
    colours = assign_colours(names)
    drawn = []
    for name, by_series in curves.items():
        rows = [
            (key(series, colours), *summarize_curve(points)) for series, points in by_series.items()
        ]
        table = Table(columns=("", *CURVE_COLUMNS), rows=rows)
        drawn.append(card(name, "", curves_chart(by_series, colours), table))
    return legend({name: name for name in names}, colours) + cards(drawn)


def evaluation_view(artifact: Artifact) -> str:
    """The metrics of each slice, with bars to compare them by, and what does not hold."""
    metrics, *failed = evaluation_tables(artifact, Detail())
    return "".join(map(table_view, [add_bars(metrics), *failed]))


def add_bars(table: Table) -> Table:
    """A table of numbers behind a first column, with bars to compare them by."""
    scales = [_scale(column) for column in zip(*table.rows, strict=True)]
    rows = [
        [row[0], *(_bar(cell, scale) for cell, scale in zip(row[1:], scales[1:], strict=True))]
        for row in table.rows
    ]
    return replace(table, rows=rows)


def _scale(column: Sequence[str]) -> float:
    """The largest number of a column, without its sign; what is infinite has no bar."""
    return max((abs(number) for number in map(_number, column)), default=0.0)


def _number(cell: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        return 0.0
    return number if math.isfinite(number) else 0.0


def _bar(cell: str, scale: float) -> Html:
    width = _BAR_WIDTH * abs(_number(cell)) / scale if scale else 0.0
    # An SVG, since a page whose policy forbids inline styles would show no width.
    return Html(
        f'{escape(cell)}<svg class="bar" width="{_BAR_WIDTH}" height="3" aria-hidden="true">'
        f'<rect width="{width:.1f}" height="3" rx="1.5"/></svg>'
    )


def verdict_view(blessing: Artifact) -> str:
    """Whether a model was blessed, in a word, and what is known about it."""
    verdict = verdict_on(blessing)
    kind = {True: "good", False: "bad", None: ""}[verdict]
    return f'<p><span class="verdict {kind}">{VERDICTS[verdict]}</span></p>' + facts_view(blessing)


def facts_view(artifact: Artifact) -> str:
    """The properties of an artifact that say something to people."""
    properties = mask_secrets({**artifact.properties, **artifact.custom_properties})
    rows = [(name, one_line(value)) for name, value in properties.items() if name not in _NOT_FACTS]
    if not rows:
        return ""
    return table_view(Table(title="properties", columns=("property", "value"), rows=rows))


def files_view(artifact: Artifact) -> str:
    """How large an artifact is, and its largest files."""
    root, paths = os.path.dirname(artifact.uri), [artifact.uri]
    if os.path.isdir(artifact.uri):
        root = artifact.uri
        walked = os.walk(root)
        paths = [os.path.join(folder, name) for folder, _, names in walked for name in names]
    sizes = {os.path.relpath(path, root): os.path.getsize(path) for path in paths}
    largest = sorted(sizes, key=lambda path: -sizes[path])[:_NUM_FILES]
    noun = "file" if len(sizes) == 1 else "files"
    more = f", the {_NUM_FILES} largest" if len(sizes) > _NUM_FILES else ""
    return table_view(
        Table(
            title=f"{len(sizes)} {noun}, {readable_size(sum(sizes.values()))}{more}",
            columns=("file", "size"),
            rows=[(path, readable_size(sizes[path])) for path in largest],
        )
    )
