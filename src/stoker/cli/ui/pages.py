# SPDX-License-Identifier: Apache-2.0
"""An address becomes a page: which store is meant, what is read of it, and which template shows it.

/s/<number of a store>/runs, run?id=, log?execution=, compare?run=, artifact?id=, file?id=, data
"""

import functools
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route
from starlette.types import ASGIApp

from stoker.any_python.lines import did_you_mean
from stoker.artifacts import Artifact
from stoker.cli.ui.files import find_file, read_text
from stoker.cli.ui.security import Guard, is_csrf_token
from stoker.errors import StokerError, StoreError
from stoker.metadata.config import StoreConfig
from stoker.metadata.masking import mask_secrets
from stoker.metadata.store import Store
from stoker.views.pages.artifact_page import make_artifact_values
from stoker.views.pages.compare_page import SMOOTHINGS, make_comparison_values
from stoker.views.pages.comparing import FEWEST, MOST
from stoker.views.pages.data_page import make_data_values
from stoker.views.pages.rendering import read_script, read_style, render
from stoker.views.pages.run_page import make_detail_values, make_live_values
from stoker.views.pages.run_query import FACTS, PER_PAGE, RunQuery
from stoker.views.pages.run_reading import RunRecord, read_log, read_run
from stoker.views.pages.run_table import RunTable, read_table
from stoker.views.table import readable_path

_LONGEST_FORM = 100_000
_LONGEST_LOG = 50_000_000
_MOST_TAGS = 20
_RETRY_SECONDS = 3

Page = Callable[[Request, "Site"], Response]


class NotFound(Exception):
    """What is asked for is not there; the text says what."""


class Site:
    """What the pages are made from: the stores, of which one is looked at by each request."""

    def __init__(self, stores: Sequence[StoreConfig]) -> None:
        self.names = [
            readable_path(config.path) if config.is_file else config.place for config in stores
        ]
        self.csrf = ""
        self._stores = [Store(config, looks_on=True) for config in stores]

    def find_store(self, request: Request) -> Store:
        """The store that an address names."""
        number: int = request.path_params["store"]
        if not 0 <= number < len(self._stores):
            raise NotFound(f"There is no store {number}.")
        return self._stores[number]

    def find_run(self, request: Request) -> RunRecord:
        """The run that an address names."""
        return _require_run(self.find_store(request), request.query_params.get("id", ""))

    def show(self, request: Request, template: str, **values: Any) -> Response:
        """A whole page."""
        store = request.path_params.get("store", 0)
        common = {"base": f"/s/{store}", "stores": self.names, "csrf": self.csrf, "here": ""}
        return HTMLResponse(render(template, **{**common, **values}))


def _require_run(store: Store, run_id: str) -> RunRecord:
    run = read_run(store, run_id)
    if run is None:
        raise NotFound(f"There is no run {run_id}.")
    return run


def make_app(stores: Sequence[StoreConfig], *, port: int, token: str) -> ASGIApp:
    """The whole page, behind its guard."""
    site = Site(stores)
    routes = [Route("/", _go_to_runs), Route("/store", _go_to_store)]
    routes += [Route(f"/static/{name}", _serve(read, kind)) for name, read, kind in STATIC]
    routes += [
        Route(f"/s/{{store:int}}{path}", _answer(page, site)) for path, page in PAGES.items()
    ]
    routes.append(Route("/s/{store:int}/note", _answer_form(site), methods=["POST"]))
    guard = Guard(Starlette(routes=routes), port=port, token=token)
    site.csrf = guard.csrf
    return guard


def _answer(page: Page, site: Site) -> Callable[[Request], Any]:
    """A page as a route; what is not there, and a store that is busy, have pages of their own."""

    @functools.wraps(page)
    def answer(request: Request) -> Response:
        try:
            return page(request, site)
        except NotFound as error:
            return _tell(request, site, "Not found", str(error), 404)
        except StoreError as error:
            answer = _tell(request, site, "The store is busy", str(error), 503, again=True)
            answer.headers["Refresh"] = str(_RETRY_SECONDS)
            return answer
        except (StokerError, OSError, ValueError) as error:  # files may be cleaned meanwhile
            return _tell(request, site, "This cannot be shown", str(error), 500)

    return answer


def _tell(
    request: Request, site: Site, title: str, text: str, status: int, *, again: bool = False
) -> Response:
    answer = site.show(request, "message.html", title=title, text=text, again=again)
    answer.status_code = status
    return answer


def _go_to_runs(_: Request) -> Response:
    return RedirectResponse("/s/0/runs", status_code=303)


def _go_to_store(request: Request) -> Response:
    number = request.query_params.get("n", "0")
    return RedirectResponse(f"/s/{int(number) if number.isdecimal() else 0}/runs", status_code=303)


def _serve(read: Callable[[], str], kind: str) -> Callable[[Request], Response]:
    return lambda _: Response(read(), media_type=kind)


def _part(request: Request, html: str, *, live: str) -> Response:
    """A part of a page that is asked for again and again; nothing if it is the same as before."""
    tag = f'"{hashlib.sha256(html.encode()).hexdigest()[:24]}"'
    headers = {"ETag": tag, "X-Live": live}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return HTMLResponse(html, headers=headers)


# Runs


def show_runs(request: Request, site: Site) -> Response:
    """The table of runs."""
    query, table = _read_runs(request, site)
    values = _make_table_values(request, query, table)
    return site.show(request, "runs.html", **values, here="runs")


def show_runs_part(request: Request, site: Site) -> Response:
    """The table alone, as it is now."""
    query, table = _read_runs(request, site)
    values = _make_table_values(request, query, table)
    base = f"/s/{request.path_params['store']}"
    html = render("runs_table.html", base=base, **values)
    return _part(request, html, live="yes" if table.is_live else "slow")


def _read_runs(request: Request, site: Site) -> tuple[RunQuery, RunTable]:
    query = RunQuery.parse(request.query_params, request.query_params.getlist("column"))
    return query, read_table(site.find_store(request), query)


def _make_table_values(request: Request, query: RunQuery, table: RunTable) -> dict[str, Any]:
    base = f"/s/{request.path_params['store']}/runs"
    asked = {"q": query.text, "column": list(query.columns)}
    sort = f"{'-' * query.descending}{query.sort}"

    def link(path: str = "", **changed: Any) -> str:
        parts = {**asked, "sort": sort, **changed}
        kept = {name: value for name, value in parts.items() if value}
        return f"{base}{path}?{urlencode(kept, doseq=True)}"

    facts = {
        "run": "",
        "pipeline": "pipeline",
        "state": "state",
        "started": "started",
        "took": "duration",
        "steps": "steps",
        "cached": "cached",
    }
    names = [*facts.items(), *((name, name) for name in table.columns)]
    columns = [
        {
            "title": title,
            "number": title in ("took", "steps", "cached") or title in table.columns,
            "order": ""
            if not name or name != query.sort
            else ("descending" if query.descending else "ascending"),
            "link": link(sort=_turn(name or "started", query)),
        }
        for title, name in names
    ]
    num_pages = max(1, -(-table.num_found // PER_PAGE))
    known = [*FACTS, *table.metrics, *table.parameters]
    return {
        "query": query,
        "table": table,
        "sort": sort,
        "columns": columns,
        "num_pages": num_pages,
        "previous": link(page=query.page - 1) if query.page > 1 else "",
        "following": link(page=query.page + 1) if query.page < num_pages else "",
        "live": link("/part", page=query.page if query.page > 1 else None),
        "hints": {name: did_you_mean(name, known) for name in table.unknown},
    }


def _turn(name: str, query: RunQuery) -> str:
    """The order that a click on a column asks for: first the largest, then the other way round."""
    if name == query.sort:
        return name if query.descending else f"-{name}"
    return f"-{name}"


# One run


def show_run(request: Request, site: Site) -> Response:
    """One run, with all that is known of it."""
    run = site.find_run(request)
    return site.show(
        request,
        "run.html",
        **make_live_values(run),
        **make_detail_values(run),
        version=_name_version(run),
        live=f"/s/{request.path_params['store']}/run/part?{urlencode({'id': run.run_id})}"
        if run.is_live
        else "",
    )


def show_run_part(request: Request, site: Site) -> Response:
    """What changes while a run goes on."""
    run = site.find_run(request)
    base = f"/s/{request.path_params['store']}"
    html = render("run_live.html", base=base, **make_live_values(run))
    answer = _part(request, html, live="yes" if run.is_live else "no")
    answer.headers["X-Version"] = _name_version(run)
    return answer


def show_run_details(request: Request, site: Site) -> Response:
    """Parameters and logs of the steps that have begun by now."""
    run = site.find_run(request)
    base = f"/s/{request.path_params['store']}"
    return HTMLResponse(render("run_details.html", base=base, run=run, **make_detail_values(run)))


def _name_version(run: RunRecord) -> str:
    """What changes when a step begins or ends."""
    return " ".join(f"{step.execution_id}{step.state[:2]}" for step in run.steps)


def show_log(request: Request, site: Site) -> Response:
    """The log of one step as text, from an offset on."""
    store, number = site.find_store(request), _read_number(request, "execution")
    execution = store.execution(number)
    run = read_run(store, execution.run_id)
    steps = [one for one in (run.steps if run else ()) if one.execution_id == execution.id]
    if not steps:
        raise NotFound(f"There is no execution {number}.")
    offset = request.query_params.get("offset", "")
    if not (offset.isdecimal() and len(offset) < 18):
        return PlainTextResponse(read_log(steps[0].log_file, 0, most=_LONGEST_LOG).text)
    part = read_log(steps[0].log_file, int(offset))
    goes_on = steps[0].state == "running" or len(part.text) > 0
    headers = {"X-Next-Offset": str(part.next_offset), "X-Live": "yes" if goes_on else "no"}
    return PlainTextResponse(part.text, headers=headers)


def show_execution(request: Request, site: Site) -> Response:
    """The run that an execution is in, at the place of its step."""
    execution = site.find_store(request).execution(_read_number(request, "id"))
    where = urlencode({"id": execution.run_id})
    base = f"/s/{request.path_params['store']}"
    return RedirectResponse(f"{base}/run?{where}#step-{execution.id}", status_code=303)


# Artifacts


def show_artifact(request: Request, site: Site) -> Response:
    """One artifact, with its lineage and its files."""
    store = site.find_store(request)
    artifact = _find_artifact(request, store)
    values = make_artifact_values(store, artifact, f"/s/{request.path_params['store']}")
    uri = mask_secrets(readable_path(artifact.uri))
    return site.show(request, "artifact.html", **values, uri=uri)


def send_file(request: Request, site: Site) -> Response:
    """One file of a published artifact."""
    artifact = _find_artifact(request, site.find_store(request))
    path = find_file(artifact, request.query_params.get("path", ""))
    if path is None:
        raise NotFound(
            f"{artifact.type_name} {artifact.id} has no such file. See its page for those it has."
        )
    if request.query_params.get("as") == "text":
        text = read_text(path)
        return PlainTextResponse("This file is no text; save it.\n" if text is None else text)
    return FileResponse(
        path, media_type="application/octet-stream", filename=os.path.basename(path)
    )


# Several runs, and data


def show_comparison(request: Request, site: Site) -> Response:
    """Two to ten runs side by side."""
    store = site.find_store(request)
    ids = list(dict.fromkeys(request.query_params.getlist("run")))
    if not FEWEST <= len(ids) <= MOST:
        text = f"Choose {FEWEST} to {MOST} runs in the table of runs; there are {len(ids)}."
        return _tell(request, site, "Compare runs", text, 400)
    values = make_comparison_values(
        [_require_run(store, run_id) for run_id in ids],
        smoothing=_read_smoothing(request.query_params.get("smooth", "")),
        is_log="log" in request.query_params,
        everything="all" in request.query_params,
    )
    return site.show(request, "compare.html", **values, here="runs")


def _read_smoothing(text: str) -> float:
    return next((one for one in SMOOTHINGS if str(one) == text), 0.0)


def show_data(request: Request, site: Site) -> Response:
    """The statistics of spans over time."""
    values = make_data_values(site.find_store(request), request.query_params)
    return site.show(request, "data.html", **values, here="data")


def _find_artifact(request: Request, store: Store) -> Artifact:
    number = _read_number(request, "id")
    found = store.some_artifacts([number])
    if not found:
        raise NotFound(f"There is no artifact {number}.")
    return found[0]


def _read_number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    if not (text.isdecimal() and len(text) < 18):
        raise NotFound(f"There is no {name} {text}.")
    return int(text)


def _answer_form(site: Site) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        body, length = b"", 0
        async for chunk in request.stream():  # to its end: who still sends hears no answer
            length += len(chunk)
            body += chunk if length <= _LONGEST_FORM else b""
        if length > _LONGEST_FORM:
            return PlainTextResponse("This is too long.\n", status_code=413)
        fields = {key: many[-1] for key, many in parse_qs(body.decode("utf-8", "replace")).items()}
        if not is_csrf_token(fields.get("csrf", ""), site.csrf):
            return PlainTextResponse("Load the page again, and retry.\n", status_code=403)
        save = _answer(lambda request, site: _save_note(request, site, fields), site)
        return await run_in_threadpool(save, request)

    return answer


def _save_note(request: Request, site: Site, fields: Mapping[str, str]) -> Response:
    """Keep what somebody says of a run, and show the run again."""
    run_id = fields.get("run", "")
    tags = [tag for one in fields.get("tags", "").split(",") if (tag := one.strip()[:60])]
    store = site.find_store(request)
    _require_run(store, run_id)
    note = fields.get("note", "").replace("\r\n", "\n").strip()
    store.describe_run(run_id, note=note, tags=list(dict.fromkeys(tags))[:_MOST_TAGS])
    target = f"/s/{request.path_params['store']}/run?{urlencode({'id': run_id})}"
    return RedirectResponse(target, status_code=303)


STATIC = (
    ("page.css", read_style, "text/css"),
    ("page.js", read_script, "text/javascript"),
)
PAGES: dict[str, Page] = {
    "/runs": show_runs,
    "/runs/part": show_runs_part,
    "/run": show_run,
    "/run/part": show_run_part,
    "/run/details": show_run_details,
    "/log": show_log,
    "/execution": show_execution,
    "/artifact": show_artifact,
    "/file": send_file,
    "/compare": show_comparison,
    "/data": show_data,
}
"""To add a page: a function of a request and the site, and a line here."""
