"""Reading of specifications, and checks of their names."""

from __future__ import annotations

from pathlib import Path

from haloscope.reproduce.campaign.expressions import find_names
from haloscope.reproduce.campaign.ramble import read_ramble
from haloscope.reproduce.campaign.specification import BUILT_IN, GRID, Specification
from haloscope.reproduce.campaign.yaml_text import make_error, read_model


def load_specification(file: Path) -> Specification:
    """Return the specification in a YAML file.

    Raises:
        UsageError: The specification is invalid; the error has file and line.
    """
    specification, lines = read_model(file, Specification)
    if specification.ramble is not None:
        more = read_ramble(file.parent / specification.ramble, list(specification.programs))
        twice = sorted(more.keys() & specification.experiments.keys())
        if twice:
            message = f"{twice[0]} is also an experiment of {specification.ramble}; give it another name"
            raise make_error(file, lines.of(("experiments", twice[0])), message)
        specification = specification.model_copy(
            update={"experiments": {**specification.experiments, **more}}
        )
    for name, experiment in specification.experiments.items():
        keys: tuple[str, ...] = ("experiments", name)
        for key, wanted, known in (
            ("program", [experiment.program], specification.programs),
            ("systems", experiment.systems or (), specification.systems),
            ("variants", experiment.variants or (), specification.variants),
        ):
            for word in wanted:
                if word not in known:
                    raise make_error(
                        file,
                        lines.of((*keys, key)),
                        f"{key}: {word} does not exist; choose from {', '.join(known)}",
                    )
        _check_names(file, specification, name, lines.of(keys))
    return specification


def _check_names(file: Path, specification: Specification, name: str, line: int) -> None:
    """Check that parameters use only existing names, and not each other in a circle."""
    experiment = specification.experiments[name]
    program = specification.programs[experiment.program]
    values = {**program.parameters, **experiment.parameters, **experiment.vary}
    needs: dict[str, set[str]] = {}
    for key, value in values.items():
        if key in BUILT_IN and not (key in GRID and experiment.grids is None):
            raise make_error(
                file, line, f"{key}: is defined by ranks or grids; give the parameter another name"
            )
        texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
        try:
            needs[key] = {found for text in texts for found in find_names(text)}
        except ValueError as error:
            raise make_error(file, line, f"{key}: {error}") from None
        unknown = needs[key] - values.keys() - set(BUILT_IN)
        if unknown:
            known = ", ".join(sorted({*values, *BUILT_IN}))
            raise make_error(file, line, f"{key}: {min(unknown)} does not exist; choose from {known}")
    while free := {key for key, needed in needs.items() if not needed & needs.keys()}:
        needs = {key: needed for key, needed in needs.items() if key not in free}
    if needs:
        raise make_error(
            file, line, f"{' and '.join(sorted(needs))} depend on each other; give one of them a value"
        )
