# SPDX-License-Identifier: Apache-2.0
"""`stoker rewrite`: the Rewriter alone, on a model of the store or in a folder."""

import contextlib
import os
import sys
from dataclasses import dataclass

import click

from stoker.any_python.layout import serving_model_dir
from stoker.artifacts import Artifact, Examples, Model
from stoker.cli.lookup import find_artifact
from stoker.cli.options import choose_store, find_stores, json_option, store_options
from stoker.cli.printing import print_answer
from stoker.cli.train import read_data
from stoker.components.importer import Importer
from stoker.components.rewriter import Rewriter
from stoker.dsl.component import Node
from stoker.dsl.pipeline import Pipeline
from stoker.metadata.config import StoreConfig
from stoker.metadata.store import Store
from stoker.models.rewriting.targets import TARGETS
from stoker.runner import LocalDagRunner
from stoker.views.model_tables import REPORTS, formats_tables
from stoker.views.table import readable_path

_FORMATS = tuple(dict.fromkeys(name.partition("_")[0] for name in TARGETS))
_TFLITE = "tflite_"
_PRECISIONS = (
    "float32",
    *(name.removeprefix(_TFLITE) for name in TARGETS if name.startswith(_TFLITE)),
)
_SERVING = os.path.basename(serving_model_dir(""))


@click.command()
@click.argument("model", metavar="MODEL")
@click.option(
    "--to",
    "formats",
    multiple=True,
    required=True,
    type=click.Choice(_FORMATS),
    help="The format to write; may be given several times.",
)
@click.option(
    "--quantize",
    multiple=True,
    type=click.Choice(_PRECISIONS),
    help="For TFLite: the precision of numbers; int8_io takes and returns integers too.  "
    "[default: float32]",
)
@click.option(
    "--examples",
    metavar="DATA",
    type=click.Path(exists=True),
    help="Data to compare results on, as for stoker train --data.  [default: its training data]",
)
@click.option("--signature", help="The signature to convert.  [default: serving_default]")
@click.option(
    "--tolerance", type=float, help="How far results may differ, as a fraction of the largest."
)
@click.option(
    "--out", metavar="DIR", help="Where outputs go.  [default: where the model's store is]"
)
@store_options
@json_option
def rewrite(
    model: str,
    formats: tuple[str, ...],
    quantize: tuple[str, ...],
    examples: str | None,
    signature: str | None,
    tolerance: float | None,
    out: str | None,
    root: str,
    place: str | None,
    as_json: bool,
) -> int:
    """Convert a MODEL to other formats, and compare their results with its own.

    The MODEL is the id or the path of an artifact, or a folder with a SavedModel.
    """
    source = _find(model, root, place)
    steps: list[Node] = [Importer(source_uri=source.uri, artifact_type=Model).with_id("model")]
    if examples:
        steps.append(read_data(os.path.abspath(examples)))
    elif known := source.examples:
        reading = Importer(known.uri, artifact_type=Examples, properties=known.properties)
        steps.append(reading.with_id("examples"))
    model_channel, *examples_channels = [
        channel for step in steps for channel in step.outputs.values()
    ]
    rewriter = Rewriter(
        model=model_channel,
        to=_targets(formats, quantize),
        examples=examples_channels[0] if examples_channels else None,
        signature=signature,
        tolerance=tolerance,
    )
    pipeline = Pipeline(
        "rewrite",
        os.path.abspath(out or source.folder),
        components=[*steps, rewriter],
        enable_cache=True,
        metadata_connection_config=source.store,
    )
    with contextlib.redirect_stdout(sys.stderr):  # what the converters say is not the answer
        run = LocalDagRunner().run(pipeline)
    made = {name: artifacts[0] for name, artifacts in run.outputs["Rewriter"].items()}
    record = {name: _record(name, artifact) for name, artifact in made.items()}
    places = [f"{name}: {readable_path(str(one['path']))}" for name, one in record.items()]
    print_answer(record, *places, "", *formats_tables(made.values()), as_json=as_json)
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _ModelToRewrite:
    """The model, and what is known about where it comes from."""

    uri: str
    examples: Artifact | None = None
    store: StoreConfig | None = None

    @property
    def folder(self) -> str:
        """Where outputs go unless it is said."""
        path = self.store and self.store.path
        return os.path.dirname(path) if path else os.path.join("out", "rewrite")


def _find(text: str, root: str, place: str | None) -> _ModelToRewrite:
    try:
        config = choose_store(find_stores(root, place), text.removesuffix(os.sep + _SERVING))
    except click.UsageError:
        if place or not os.path.isdir(text):
            raise
        return _ModelToRewrite(uri=os.path.abspath(text))
    with Store(config) as store:
        path = text if text.isdecimal() else os.path.abspath(text)
        try:
            artifact = find_artifact(store, path.removesuffix(os.sep + _SERVING))
        except click.UsageError:
            if text.isdecimal() or not os.path.isdir(text):
                raise
            return _ModelToRewrite(uri=path)
        if not isinstance(artifact, Model):
            raise click.UsageError(
                f"Artifact {artifact.id} is {artifact.type_name}, not a Model. Name a Model."
            )
        return _ModelToRewrite(
            uri=artifact.uri, examples=_first_examples(store, artifact), store=config
        )


def _first_examples(store: Store, model: Artifact) -> Artifact | None:
    """The examples that a model was made from; those before others, which are the raw ones."""
    found = [
        artifact for artifact in store.lineage(model.id).artifacts if isinstance(artifact, Examples)
    ]
    there = [artifact for artifact in found if os.path.isdir(artifact.uri)]
    return min(there, key=lambda one: one.id, default=None)


def _targets(formats: tuple[str, ...], precisions: tuple[str, ...]) -> list[str]:
    if precisions and "tflite" not in formats:
        raise click.UsageError(
            "--quantize is for TFLite, and other formats keep float32: add --to tflite."
        )
    chosen = []
    for name in formats:
        kinds = precisions if name == "tflite" and precisions else ("float32",)
        chosen += [name if kind == "float32" else f"{name}_{kind}" for kind in kinds]
    assert set(chosen) <= set(TARGETS)
    return list(dict.fromkeys(chosen))


def _record(name: str, artifact: Artifact) -> dict[str, object]:
    reports = dict(artifact.custom_properties[REPORTS])  # type: ignore[arg-type]
    return {
        "artifact": artifact.id,
        "path": serving_model_dir(artifact.uri),
        "report": reports[name],
    }
