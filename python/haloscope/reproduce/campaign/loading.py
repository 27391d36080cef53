"""Reads a specification, and sees that its names lead somewhere."""

from __future__ import annotations

from pathlib import Path

from haloscope.reproduce.campaign.expressions import names_in
from haloscope.reproduce.campaign.ramble import read_ramble
from haloscope.reproduce.campaign.specification import BUILT_IN, GRID, Specification
from haloscope.reproduce.campaign.yaml_text import read_model, wrong


def load_specification(file: Path) -> Specification:
    """Return what a YAML file specifies. Raises `UsageError` with file and line for what is wrong."""
    specification, lines = read_model(file, Specification)
    if specification.ramble is not None:
        more = read_ramble(file.parent / specification.ramble, list(specification.programs))
        twice = sorted(more.keys() & specification.experiments.keys())
        if twice:
            said = f"{twice[0]} is an experiment of {specification.ramble}, too; name it otherwise"
            raise wrong(file, lines.of(("experiments", twice[0])), said)
        specification = specification.model_copy(
            update={"experiments": {**specification.experiments, **more}}
        )
    for name, experiment in specification.experiments.items():
        place: tuple[str, ...] = ("experiments", name)
        for key, wanted, known in (
            ("program", [experiment.program], specification.programs),
            ("systems", experiment.systems or (), specification.systems),
            ("variants", experiment.variants or (), specification.variants),
        ):
            for word in wanted:
                if word not in known:
                    raise wrong(
                        file,
                        lines.of((*place, key)),
                        f"{key}: there is no {word}; there are {', '.join(known)}",
                    )
        _check_names(file, specification, name, lines.of(place))
    return specification


def _check_names(file: Path, specification: Specification, name: str, line: int) -> None:
    """See that parameters name each other in no circle, and nothing that is not there."""
    experiment = specification.experiments[name]
    program = specification.programs[experiment.program]
    values = {**program.parameters, **experiment.parameters, **experiment.vary}
    needs: dict[str, set[str]] = {}
    for key, value in values.items():
        if key in BUILT_IN and not (key in GRID and experiment.grids is None):
            raise wrong(file, line, f"{key}: is given by ranks or grids; name the parameter otherwise")
        texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
        try:
            needs[key] = {found for text in texts for found in names_in(text)}
        except ValueError as error:
            raise wrong(file, line, f"{key}: {error}") from None
        unknown = needs[key] - values.keys() - set(BUILT_IN)
        if unknown:
            there = ", ".join(sorted({*values, *BUILT_IN}))
            raise wrong(file, line, f"{key}: there is no {min(unknown)}; there are {there}")
    while free := {key for key, needed in needs.items() if not needed & needs.keys()}:
        needs = {key: needed for key, needed in needs.items() if key not in free}
    if needs:
        raise wrong(file, line, f"{' and '.join(sorted(needs))} need each other; give one of them a value")
