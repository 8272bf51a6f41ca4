# SPDX-License-Identifier: Apache-2.0
"""Templates become pages: every value is escaped, and what would turn or hide text is spelt out."""

import functools
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stoker.any_python.lines import escape_controls
from stoker.errors import MissingPart
from stoker.views.style import PAGE_STYLE, STYLE
from stoker.views.table import (
    one_line,
    readable_duration,
    readable_number,
    readable_path,
    readable_size,
    readable_time,
    shorten,
)

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
ADVICE = "Pages need packages that are not installed: pip install 'stoker[ui]'."


def render(template: str, **values: Any) -> str:
    """A page, or a part of one."""
    return _environment().get_template(template).render(**values)


@functools.cache
def _environment() -> "Environment":
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise MissingPart(ADVICE) from error

    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_spell_out,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "duration": readable_duration,
        "moment": readable_time,
        "number": show_number,
        "size": readable_size,
        "place": readable_path,
        "line": show_line,
        "short": shorten,
    }
    return environment


def _spell_out(value: Any) -> Any:
    """Text without marks that turn its direction; what is HTML already stays."""
    return escape_controls(value) if type(value) is str else value


def show_line(value: Any) -> str:
    """A value on one line; a path below the folder that this program is in, from there."""
    return one_line(readable_path(value) if isinstance(value, str) else value)


def show_number(value: Any) -> str:
    """A number for a table; any other value on one line."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return shorten(show_line(value))
    if isinstance(value, int) or (math.isfinite(value) and value == int(value)):
        return f"{int(value):,}" if abs(value) < 1e15 else readable_number(value)
    return readable_number(value)


@functools.cache
def read_style() -> str:
    """The style sheet of all pages."""
    return "\n".join((STYLE, PAGE_STYLE, _read("page.css")))


@functools.cache
def read_script() -> str:
    """The script that keeps pages up to date."""
    return _read("page.js")


def _read(name: str) -> str:
    return (_HERE / "static" / name).read_text(encoding="utf-8")
