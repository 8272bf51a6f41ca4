# SPDX-License-Identifier: Apache-2.0
import dataclasses

import pytest

from stoker.any_python import dataset, fn_args
from stoker.user_code.fn_args import DataAccessor, FnArgs


def test_fn_args_have_the_same_fields_in_the_same_order():
    there, here = map(dataclasses.fields, (fn_args.FnArgs, FnArgs))
    assert [field.name for field in there] == [field.name for field in here]


def test_data_accessors_have_the_same_fields():
    assert fn_args.DataAccessor._fields == DataAccessor._fields


def test_the_data_accessor_is_made_anew():
    made = fn_args.make_fn_args({"train_steps": 3})
    assert made.train_steps == 3
    assert made.data_accessor.tf_dataset_factory is dataset.tf_dataset_factory


@pytest.mark.tf
@pytest.mark.parametrize("name", ["TensorFlowDatasetOptions", "RecordBatchesOptions"])
def test_options_are_those_of_tfx_bsl(name):
    from tfx_bsl.public import tfxio

    theirs = getattr(tfxio, name)(batch_size=7)
    assert getattr(dataset, name)(batch_size=7)._asdict() == theirs._asdict()
