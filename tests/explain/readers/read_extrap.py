"""Print the scaling models of Extra-P for the cases of a file: [points, values, a larger point], as JSON."""

import json
import sys
import warnings
from typing import Any

warnings.simplefilter("ignore")

from extrap.entities.coordinate import Coordinate  # noqa: E402
from extrap.entities.measurement import Measurement  # noqa: E402
from extrap.modelers.single_parameter.basic import SingleParameterModeler  # noqa: E402


def law(points: list[float], values: list[float], beyond: float) -> dict[str, Any]:
    measured = [Measurement(Coordinate(x), None, None, [y]) for x, y in zip(points, values, strict=True)]
    hypothesis = SingleParameterModeler().create_model(measured).hypothesis
    terms = getattr(hypothesis.function, "compound_terms", [])
    return {
        "factor": float(sum(term.coefficient for term in terms)),
        "error": float(hypothesis.SMAPE),
        "beyond": float(hypothesis.function.evaluate(beyond)),
    }


with open(sys.argv[1]) as file:
    print(json.dumps([law(*case) for case in json.load(file)]))
