# SPDX-License-Identifier: Apache-2.0
"""Evaluates models with both engines, where TFMA is; prints what differs in each case, as JSON.

python both_engines.py FOLDER    the folder has model/, baseline/, data.gz and cases.json
"""

import json
import os
import sys
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow_model_analysis as tfma

import stoker.stand_ins.provide  # noqa: F401 - TFMA 0.52 lacks the names of its configuration
from stoker.dsl.proto.evaluation_pb2 import ValidationFailure
from stoker.evaluation.config import as_eval_config, with_defaults
from stoker.evaluation.engine import make_plan, measure
from stoker.evaluation.results import (
    read_metrics,
    read_slice_key,
    read_validation,
    write_evaluation,
)
from stoker.evaluation.slices import describe_slice
from stoker.evaluation.thresholds import validate
from stoker.evaluation.with_tfma import evaluate_with_tfma
from stoker.models.scoring import score_batches


def main(folder: Path) -> None:
    cases = json.loads((folder / "cases.json").read_text())
    print(json.dumps({name: both(folder, name, case) for name, case in cases.items()}))


def both(folder: Path, name: str, case: dict[str, object]) -> dict[str, object]:
    has_baseline = bool(case.pop("has_baseline", False))
    # TFMA's own class, by the name that its 0.52 lacks.
    theirs = tfma.EvalConfig.FromString(as_eval_config(case).SerializeToString())
    config = with_defaults(as_eval_config(theirs), has_baseline=has_baseline)
    places = [str(folder / "model"), str(folder / "baseline")]
    models = dict(zip([spec.name for spec in config.model_specs], places, strict=False))
    files = [str(folder / "data.gz")]
    ours, tfmas = (str(folder / f"{name}-{engine}") for engine in ("ours", "theirs"))
    plan = make_plan(config)
    measured = measure(plan, score_batches(config, models, files))
    validation = validate(plan, measured, rubber_stamp=False)
    os.makedirs(ours)
    write_evaluation(ours, config, measured, validation, data_location=files[0], models=models)
    evaluate_with_tfma(config, models, files, tfmas, rubber_stamp=False)
    return {**compare(ours, tfmas), **read_by_tfma(ours)}


def compare(ours: str, theirs: str) -> dict[str, object]:
    """What is in one evaluation and not in the other, and the largest differences by metric."""
    mine, other = read_metrics(ours), read_metrics(theirs)
    largest: dict[str, float] = {}
    for key in mine.keys() & other.keys():
        for metric in mine[key].keys() & other[key].keys():
            a, b = mine[key][metric], other[key][metric]
            same = a == b or (a != a and b != b)
            difference = 0 if same else abs(a - b) / max(1, abs(b))
            largest[metric.name] = max(largest.get(metric.name, 0), difference)
    return {
        "slices": len(mine),
        "other_slices": sorted(map(describe_slice, mine.keys() ^ other.keys())),
        "other_metrics": sorted({str(m) for k in mine for m in mine[k].keys() ^ other[k].keys()}),
        "largest": largest,
        "verdicts": [verdict(ours), verdict(theirs)],
    }


def verdict(folder: str) -> dict[str, object]:
    """The file of the validation: which thresholds fail where, and how many slices were held."""
    found = read_validation(folder)
    assert found is not None
    return {
        "ok": found.validation_ok,
        "failures": sorted(
            (
                describe_slice(read_slice_key(one.slice_key)),
                failure.metric_key.name,
                failure_kind(failure),
            )
            for one in found.metric_validations_per_slice
            for failure in one.failures
        ),
        "missing_slices": len(found.missing_slices),
        "details": sorted(
            (str(one.slicing_spec), one.num_matching_slices)
            for one in found.validation_details.slicing_details
        ),
    }


def failure_kind(failure: ValidationFailure) -> str:
    threshold = failure.metric_threshold
    return "change" if threshold.HasField("change_threshold") else "value"


def read_by_tfma(folder: str) -> dict[str, object]:
    """What TFMA's own readers find in the files that we wrote."""
    result = tfma.load_eval_result(folder)
    validation = tfma.load_validation_result(folder)
    return {"read_slices": len(result.slicing_metrics), "read_ok": validation.validation_ok}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
