"""Lists every scalar, histogram, image and hyperparameter in an event file, with TensorBoard's own reader.

    python tests/python/tensorboard_scalars.py FOLDER_OR_FILE

One line each: kind, tag, step and value. Needs the package tensorboard.
"""

import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata

events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "histograms": 0, "images": 0})
events.Reload()
tags = events.Tags()
for tag in tags["scalars"]:
    for event in events.Scalars(tag):
        print("scalar", tag, event.step, event.value)
for tag in tags["histograms"]:
    for event in events.Histograms(tag):
        value = event.histogram_value
        print("histogram", tag, event.step, value.num, value.min, value.max, value.sum)
for tag in tags["images"]:
    for event in events.Images(tag):
        print("image", tag, event.step, event.width, event.height)
try:
    contents = events.PluginTagToContent("hparams")
except KeyError:
    contents = {}
for content in contents.values():
    hparams = metadata.parse_session_start_info_plugin_data(content).hparams
    for name in sorted(hparams):
        value = hparams[name]
        print("hparam", name, getattr(value, value.WhichOneof("kind")))
