# SPDX-License-Identifier: Apache-2.0
"""tf.Examples as older editions of TFDV read them."""

from stoker.stand_ins.tfdv.transforms import DecodeTFExample
from stoker.stand_ins.tfdv.tf_example_decoder import TFExampleDecoder
