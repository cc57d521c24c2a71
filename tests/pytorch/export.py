"""Exports PyTorch's own test samples for what Taper has: inputs, arguments, outputs and gradients in double precision.

    python tests/pytorch/export.py all.samples        # or: export.py tensors.samples tensors, further.samples further
    TAPER_SAMPLES=$PWD/all.samples TAPER_SAMPLES_REASONS=$PWD/reasons.txt cargo test --test pytorch
    python tests/pytorch/pack.py all.samples reasons.txt tests/pytorch/samples.gz       # or tensors.gz, further.gz
    TAPER_UPDATE_SNAPSHOTS=1 cargo test --test pytorch

`reasons.txt` has a line for each sample, which is empty if Taper can express it; the others are stored without values.
The first command needs PyTorch, numpy and expecttest.
"""

import sys
import warnings

from functions import export_functions
from modules import export_modules
from optimizers import export_optimizers
from samples import Exporter
from schedules import export_schedules
from tables import FURTHER_MODULES, FURTHER_SIGNATURES, TENSORS

warnings.filterwarnings("ignore")


def main():
    exporter = Exporter()
    if "tensors" in sys.argv[2:]:
        export_functions(exporter, TENSORS)
    elif "further" in sys.argv[2:]:
        export_functions(exporter, FURTHER_SIGNATURES)
        export_modules(exporter, FURTHER_MODULES)
    else:
        for export in (export_functions, export_modules, export_optimizers, export_schedules):
            export(exporter)
    exporter.store.write(sys.argv[1], exporter.samples)
    print(len(exporter.samples), "samples")


if __name__ == "__main__":
    main()
