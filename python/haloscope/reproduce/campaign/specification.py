"""The keys of a specification: systems, programs, experiments, variants.

docs/reference/campaign.md is generated from these declarations.
"""

from __future__ import annotations

import difflib
import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from haloscope.base.building import applications
from haloscope.base.texts import parse_figure_pattern
from haloscope.reproduce.campaign.expressions import Value
from haloscope.reproduce.campaign.grids import Grids, Ranks
from haloscope.watch import SETTINGS

# Names of every point in addition to its parameters.
GRID = ("px", "py", "pz")  # may be parameters if there are no grids
BUILT_IN = ("ranks", "nodes", *GRID, "repetition", "system")

WITH_FEM = "poisson"  # the bundled application that is built with the finite elements

# The columns of the table of every campaign, in addition to its figures.
COLUMNS = frozenset(
    "run experiment system program variant ranks nodes repetition state attempts reason seconds seconds_from "
    "core_hours problem configuration parameters profile runs seconds_min seconds_max".split()
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
_SCHEDULER_WORD = re.compile(r"[A-Za-z0-9_.,:@%+/=-]{1,200}")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_BYTES = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BYTES |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def _parse_quantity(value: Any, units: dict[str, int], example: str) -> float:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(value))
    if found is None or found[2] not in units:
        raise ValueError(f"{value!r} is invalid; write it like {example}")
    return float(found[1]) * units[found[2]]


def _match(pattern: re.Pattern[str], what: str) -> AfterValidator:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"{text!r} is not a {what}")
        return text

    return AfterValidator(check)


def _make_list(value: Any) -> Any:
    """Return a list, which may have a single element."""
    return value if isinstance(value, list) else [value]


def _check_pattern(text: str) -> str:
    return parse_figure_pattern(text).pattern


Duration = Annotated[float, BeforeValidator(lambda value: _parse_quantity(value, _SECONDS, "90, 10m or 2h"))]
Size = Annotated[float, BeforeValidator(lambda value: _parse_quantity(value, _BYTES, "24 GiB"))]
Name = Annotated[str, _match(_NAME, "name of letters, digits and _.+-")]
ParameterName = Annotated[str, _match(_PARAMETER, "name of a parameter of letters, digits and _")]
VariableName = Annotated[str, _match(_VARIABLE, "name of an environment variable")]
SchedulerWord = Annotated[str, _match(_SCHEDULER_WORD, "word for a scheduler")]
Figure = Annotated[str, AfterValidator(_check_pattern)]
Positive = Annotated[int, Field(ge=1, le=1 << 24)]
Environment = dict[VariableName, str]


def _field(value: Any, description: str) -> Any:
    """Return a field with a default."""
    return Field(default=value, description=description)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


class CampaignSystem(_Strict):
    """Where programs run."""

    launch: str = _field("mpiexec -n {ranks}", "The launcher's words, before those of the program.")
    executor: Literal["local", "slurm", "flux", "pbs", "lsf"] = _field(
        "local", "What starts runs: this machine, or its batch system."
    )
    nodes: Positive = _field(1, "Nodes that a run may have.")
    cores: Positive = Field(description="Cores of a node.")
    gpus: Annotated[int, Field(ge=0)] = _field(0, "GPUs of a node.")
    memory: Size | None = _field(None, "Memory of a node, such as 256 GiB.")
    network: str = _field("", "What connects the nodes; kept with each run.")
    mpi: str = _field("", "Description of its MPI, which is stored with each run.")
    oversubscribe: bool = _field(
        False, "Allow more ranks than cores on a node; counts stay valid, times do not."
    )
    at_once: Positive | None = _field(None, "Concurrent runs; 1 on this machine, else 64.")
    modules: list[SchedulerWord] = _field([], "Environment modules to load before each run.")
    environment: Environment = _field({}, "Environment variables of each run.")
    queue: SchedulerWord | None = _field(None, "The batch system's queue or partition.")
    account: SchedulerWord | None = _field(None, "The account that is charged.")
    attributes: dict[SchedulerWord, SchedulerWord] = _field({}, "Further options of the batch system.")
    longest: Duration | None = _field(None, "Longest duration of a run on the batch system.")


class CampaignProgram(_Strict):
    """A program."""

    command: str | None = _field(None, "The program and its arguments; `{…}` holds arithmetic of parameters.")
    application: str | None = _field(
        None, "A bundled application instead of the program's path: amg, amr, cg, hydro, poisson, sweep."
    )
    arguments: str = _field("", "Arguments of `application`.")
    build: Annotated[list[str], BeforeValidator(_make_list)] = _field(
        [], "Commands that build it for `{system}`, in the specification's directory, without a shell."
    )
    inputs: list[str] = _field([], "Files to which each run has links.")
    parameters: dict[ParameterName, Value] = _field(
        {}, "Values for `{…}` that an experiment does not define."
    )
    problem: str | None = _field(None, "The size of the whole problem, such as `nx*ny*nz*ranks`.")
    memory: str | None = _field(None, "Memory of a rank in bytes.")
    seconds: str | None = _field(None, "Estimated duration of a run (s).")
    cores: str | None = _field(None, "Cores of a rank, such as its threads. [default: 1]")
    gpus: str | None = _field(None, "GPUs of a rank.")
    requires: list[str] = _field([], "Conditions of possible runs, such as `zx % px == 0`.")
    limit: Duration = _field(3600.0, "Duration after which a run is ended.")
    figures: dict[ParameterName, Figure] = _field(
        {}, "Figures of merit: regular expressions with one group, which are searched in the output."
    )
    regions: list[str] = _field([], "Regions that the profile must have.")
    environment: Environment = _field({}, "Environment variables of each run.")

    @field_validator("application")
    @classmethod
    def _check_application(cls, value: str | None) -> str | None:
        known = sorted([*applications(with_libraries=True), WITH_FEM])
        if value is not None and value not in known:
            near = difflib.get_close_matches(value, known, 1)
            question = f"did you mean {near[0]}? Choose" if near else "choose"
            raise ValueError(f"{value}: not a bundled application; {question} from {', '.join(known)}")
        return value

    @field_validator("figures")
    @classmethod
    def _check_figures(cls, value: dict[str, str]) -> dict[str, str]:
        taken = sorted(value.keys() & COLUMNS)
        if taken:
            raise ValueError(
                f"{taken[0]}: is a column of every campaign's table; give the figure another name"
            )
        return value

    @model_validator(mode="after")
    def _check_command(self) -> CampaignProgram:
        if (self.command is None) == (self.application is None):
            raise ValueError("needs either command or application")
        if self.command is not None and self.arguments:
            raise ValueError("arguments belong to application; write them in command")
        return self


class Variant(_Strict):
    """A variant of runs: its recorded data and its changes."""

    watch: bool | dict[str, Any] = _field(
        True, "Record a profile; settings of `run`, such as `{callsites: true}`."
    )
    inject: Annotated[list[str], BeforeValidator(_make_list)] = _field(
        [], "Latencies, as `inject --latency`."
    )
    shm: bool = _field(False, "Run with the shm library (`haloscope shm`).")
    caliper: str | None = _field(None, "CALI_CONFIG for programs that are linked to Caliper.")
    launch: str | None = _field(None, "Another launcher, such as that of another MPI.")
    environment: Environment = _field({}, "Environment variables of each run.")

    @field_validator("watch")
    @classmethod
    def _check_settings(cls, value: bool | dict[str, Any]) -> bool | dict[str, Any]:
        known = {
            setting.name: setting for setting in SETTINGS if setting.is_option and setting.name != "output"
        }
        for name, given in value.items() if isinstance(value, dict) else ():
            if name not in known:
                raise ValueError(f"{name}: not a setting of run; choose from {', '.join(known)}")
            if known[name].kind is bool and not isinstance(given, bool):
                raise ValueError(f"{name}: {given!r} must be true or false")
        return value


class Experiment(_Strict):
    """Runs of a program on systems, with their sizes."""

    program: str = Field(description="Name of the program.")
    systems: list[str] | None = _field(None, "Names of systems. [default: all]")
    scaling: Literal["weak", "strong", "throughput"] = _field(
        "throughput",
        "weak: the problem per rank is constant; strong: the whole problem is constant; throughput: neither.",
    )
    ranks: Ranks | None = _field(None, "A number, a list, or `{from: 2, to: 64}`, doubled.")
    grids: Grids | None = _field(
        None, "Process grids: a list such as `[2x2x2, 4x2x2]`, or `{from: 4x4x4, to: 8x8x8}`."
    )
    parameters: dict[ParameterName, Value | list[Value]] = _field(
        {}, "A value, or a list with one value per number of ranks."
    )
    vary: dict[ParameterName, list[Value]] = _field({}, "Lists of values; every combination runs.")
    variants: list[str] | None = _field(None, "Names of variants. [default: all]")
    environment: Environment = _field({}, "Environment variables of each run.")
    repetitions: Positive | None = _field(None, "Repetitions of each point. [default: those of the campaign]")

    @model_validator(mode="after")
    def _check_lengths(self) -> Experiment:
        if (self.ranks is None) == (self.grids is None):
            raise ValueError("needs either ranks or grids")
        count = len(self.ranks if self.ranks is not None else self.grids or ())
        for name, value in self.parameters.items():
            if isinstance(value, list) and len(value) != count:
                raise ValueError(f"parameters.{name}: {len(value)} values for {count} numbers of ranks")
        for name, values in self.vary.items():
            if not values:
                raise ValueError(f"vary.{name} is empty; give a value, or remove it")
            if name in self.parameters:
                raise ValueError(f"{name} is in parameters and in vary; remove one")
        return self


class Specification(_Strict):
    """A campaign."""

    campaign: Name = Field(description="Name of the campaign.")
    description: str = _field("", "Its purpose.")
    systems: Annotated[dict[Name, CampaignSystem], Field(min_length=1)] = Field(description="By name.")
    programs: Annotated[dict[Name, CampaignProgram], Field(min_length=1)] = Field(description="By name.")
    experiments: dict[Name, Experiment] = _field({}, "By name; at least one unless `ramble` is given.")
    ramble: str | None = _field(None, "A `ramble.yaml` with further experiments.")
    variants: Annotated[dict[Name, Variant], Field(min_length=1)] = _field(
        {"watched": Variant()}, "By name. [default: one, which records a profile]"
    )
    repetitions: Positive = _field(1, "Repetitions of each point.")
    order: Literal["random", "interleaved", "written"] = _field(
        "interleaved",
        "interleaved: random order in rounds, each of which runs every point once; random: without rounds; "
        "written: as in the specification.",
    )
    seed: int = _field(0, "Seed of the random order.")
    retries: Annotated[int, Field(ge=0, le=100)] = _field(1, "Number of repeated attempts of a failed run.")

    @field_validator("ramble", mode="before")
    @classmethod
    def _reject_workspace(cls, value: Any) -> Any:
        if isinstance(value, dict):
            raise ValueError(
                "this is a workspace of Ramble; refer to it in a specification: ramble: ramble.yaml"
            )
        return value

    @model_validator(mode="after")
    def _check_experiments(self) -> Specification:
        if not self.experiments and self.ramble is None:
            raise ValueError("experiments: none are given; give one, or ramble")
        return self


SPECIFIED: dict[str, type[BaseModel]] = {
    kind.__name__: kind for kind in (Specification, CampaignSystem, CampaignProgram, Experiment, Variant)
}
