"""Print what Extra-P reads from a text: parameters, and the means at each point per region and metric."""

import json
import sys
import warnings
from types import ModuleType

warnings.simplefilter("ignore")
# Extra-P imports all of its readers. The one for Cube's files needs a library that is not installed.
sys.modules["extrap.fileio.file_reader.cube_file_reader2"] = ModuleType("left out")

from extrap.fileio.file_reader.text_file_reader import TextFileReader  # noqa: E402

found = TextFileReader().read_experiment(sys.argv[1])
rows = [
    [path.name, metric.name, list(measured.coordinate.as_tuple()), measured.repetitions, measured.mean]
    for (path, metric), several in found.measurements.items()
    for measured in several
]
print(json.dumps({"parameters": [parameter.name for parameter in found.parameters], "rows": rows}))
