"""Files of figures, which parts write and the page of the study shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from haloscope.base.errors import OutputError
from haloscope.base.files import write_whole
from haloscope.base.texts import parse_json
from haloscope.markov.figures import Figure


def write_figures(figures: Sequence[Figure], file: Path) -> None:
    """Write the figures of a part of a study.

    Raises:
        OutputError: The file cannot be written.

    Examples:
        >>> write_figures([ensembles.shares(runs).drawn], Path("figure-1.json"))
    """
    text = json.dumps([figure.as_json() for figure in figures], allow_nan=False)
    write_whole(file, text + "\n", "list of figures")


def read_figures(file: Path) -> list[Figure]:
    """Return the figures of a file.

    Raises:
        OutputError: The file was not written by `write_figures`.
    """
    try:
        read = parse_json(file.read_text("utf-8"), parse_constant=_reject)
        json.dumps(read, allow_nan=False)  # also refuses numbers that no double holds
        return [
            Figure(
                str(figure["caption"]), list(figure["traces"]), dict(figure["layout"]), str(figure["title"])
            )
            for figure in read
        ]
    except OSError as error:
        raise OutputError(f"{file}: {error.strerror}; remove it and run again") from None
    except (ValueError, KeyError, TypeError):
        raise OutputError(f"{file}: not a list of figures; remove it and run again") from None


def _reject(constant: str) -> NoReturn:
    raise ValueError(constant)
