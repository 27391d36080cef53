"""What a specification may say: systems, programs, experiments, variants.

Every key is declared here once, with what it means; docs/reference/campaign.md is made of that.
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
from haloscope.reproduce.campaign.expressions import Value
from haloscope.reproduce.campaign.grids import Grids, Ranks
from haloscope.watch import SETTINGS

# Names that every point has, beside its parameters.
GRID = ("px", "py", "pz")  # may be parameters where there are no grids
BUILT_IN = ("ranks", "nodes", *GRID, "repetition", "system")

WITH_FEM = "poisson"  # the bundled application that is built as a part of the finite elements

# The columns that the table of every campaign has, beside its figures.
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


def _scaled(value: Any, units: dict[str, int], example: str) -> float:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(value))
    if found is None or found[2] not in units:
        raise ValueError(f"{value!r} is not like {example}")
    return float(found[1]) * units[found[2]]


def _matching(pattern: re.Pattern[str], what: str) -> AfterValidator:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"{text!r} is no {what}")
        return text

    return AfterValidator(check)


def _words(value: Any) -> Any:
    """Take one for a list of one."""
    return value if isinstance(value, list) else [value]


def _regular(text: str) -> str:
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from None
    if pattern.groups != 1:
        raise ValueError(f"{text!r} needs one group, as ([0-9.]+), around the figure")
    return text


Duration = Annotated[float, BeforeValidator(lambda value: _scaled(value, _SECONDS, "90, 10m or 2h"))]
Size = Annotated[float, BeforeValidator(lambda value: _scaled(value, _BYTES, "24 GiB"))]
Name = Annotated[str, _matching(_NAME, "name: letters, digits and _.+- are")]
ParameterName = Annotated[str, _matching(_PARAMETER, "name of a parameter: letters, digits and _ are")]
VariableName = Annotated[str, _matching(_VARIABLE, "name of an environment variable")]
SchedulerWord = Annotated[str, _matching(_SCHEDULER_WORD, "word for a scheduler")]
Figure = Annotated[str, AfterValidator(_regular)]
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
    mpi: str = _field("", "Its MPI, in words; kept with each run.")
    oversubscribe: bool = _field(
        False, "Let a node have more ranks than cores; counts stay true, times do not."
    )
    at_once: Positive | None = _field(None, "Runs at a time; 1 on this machine, else 64.")
    modules: list[SchedulerWord] = _field([], "Environment modules to load before each run.")
    environment: Environment = _field({}, "Environment variables of each run.")
    queue: SchedulerWord | None = _field(None, "The batch system's queue or partition.")
    account: SchedulerWord | None = _field(None, "Who pays.")
    attributes: dict[SchedulerWord, SchedulerWord] = _field({}, "Further options of the batch system.")
    longest: Duration | None = _field(None, "How long the batch system lets a run be.")


class CampaignProgram(_Strict):
    """What runs."""

    command: str | None = _field(None, "The program and its arguments; `{…}` holds arithmetic of parameters.")
    application: str | None = _field(
        None, "A bundled application, in place of the program's path: amg, amr, cg, hydro, poisson, sweep."
    )
    arguments: str = _field("", "Arguments behind `application`.")
    build: Annotated[list[str], BeforeValidator(_words)] = _field(
        [], "Commands that build it for `{system}`, in the specification's directory, by no shell."
    )
    inputs: list[str] = _field([], "Files that it needs where it runs; they are linked to.")
    parameters: dict[ParameterName, Value] = _field({}, "Values for `{…}` where an experiment gives none.")
    problem: str | None = _field(None, "The size of the whole problem, such as `nx*ny*nz*ranks`.")
    memory: str | None = _field(None, "Bytes that a rank needs.")
    seconds: str | None = _field(None, "About how long a run is.")
    cores: str | None = _field(None, "Cores that a rank needs, such as its threads. [default: 1]")
    gpus: str | None = _field(None, "GPUs that a rank needs.")
    requires: list[str] = _field([], "What must hold, such as `zx % px == 0`.")
    limit: Duration = _field(3600.0, "A run that takes longer is ended.")
    figures: dict[ParameterName, Figure] = _field(
        {}, "Figures of merit: regular expressions with one group, looked for in the output."
    )
    regions: list[str] = _field([], "Regions that its profile must have.")
    environment: Environment = _field({}, "Environment variables of each run.")

    @field_validator("application")
    @classmethod
    def _bundled(cls, value: str | None) -> str | None:
        known = sorted([*applications(with_libraries=True), WITH_FEM])
        if value is not None and value not in known:
            near = difflib.get_close_matches(value, known, 1)
            raise ValueError(
                f"{value}: is none of the bundled applications; {f'{near[0]} is, ' if near else ''}"
                f"there are {', '.join(known)}"
            )
        return value

    @field_validator("figures")
    @classmethod
    def _free(cls, value: dict[str, str]) -> dict[str, str]:
        taken = sorted(value.keys() & COLUMNS)
        if taken:
            raise ValueError(f"{taken[0]}: is a column of every campaign's table; name the figure otherwise")
        return value

    @model_validator(mode="after")
    def _what(self) -> CampaignProgram:
        if (self.command is None) == (self.application is None):
            raise ValueError("needs either command or application")
        if self.command is not None and self.arguments:
            raise ValueError("arguments are for application; write them into command")
        return self


class Variant(_Strict):
    """How it runs: what is watched, and what is changed."""

    watch: bool | dict[str, Any] = _field(
        True, "Record a profile; settings of `run`, such as `{callsites: true}`."
    )
    inject: Annotated[list[str], BeforeValidator(_words)] = _field([], "Latencies, as `inject --latency`.")
    shm: bool = _field(False, "Run with the shm library (`haloscope shm`).")
    caliper: str | None = _field(None, "CALI_CONFIG, for programs that are linked to Caliper.")
    launch: str | None = _field(None, "Another launcher, such as that of another MPI.")
    environment: Environment = _field({}, "Environment variables of each run.")

    @field_validator("watch")
    @classmethod
    def _settings(cls, value: bool | dict[str, Any]) -> bool | dict[str, Any]:
        known = {
            setting.name: setting for setting in SETTINGS if setting.is_option and setting.name != "output"
        }
        for name, given in value.items() if isinstance(value, dict) else ():
            if name not in known:
                raise ValueError(f"{name}: is no setting of run; there are {', '.join(known)}")
            if known[name].kind is bool and not isinstance(given, bool):
                raise ValueError(f"{name}: {given!r} is neither true nor false")
        return value


class Experiment(_Strict):
    """Which programs run how large on which systems."""

    program: str = Field(description="Its name.")
    systems: list[str] | None = _field(None, "Names of systems. [default: all]")
    scaling: Literal["weak", "strong", "throughput"] = _field(
        "throughput", "Weak: a rank's problem stays the same; strong: the whole stays; throughput: as it is."
    )
    ranks: Ranks | None = _field(None, "A number, a list, or `{from: 2, to: 64}`, doubled.")
    grids: Grids | None = _field(
        None, "Process grids: a list such as `[2x2x2, 4x2x2]`, or `{from: 4x4x4, to: 8x8x8}`."
    )
    parameters: dict[ParameterName, Value | list[Value]] = _field(
        {}, "A value, or a list with one for each number of ranks."
    )
    vary: dict[ParameterName, list[Value]] = _field({}, "Lists of which every combination runs.")
    variants: list[str] | None = _field(None, "Names of variants. [default: all]")
    environment: Environment = _field({}, "Environment variables of each run.")
    repetitions: Positive | None = _field(None, "How often. [default: that of the campaign]")

    @model_validator(mode="after")
    def _lengths(self) -> Experiment:
        if (self.ranks is None) == (self.grids is None):
            raise ValueError("needs either ranks or grids")
        count = len(self.ranks if self.ranks is not None else self.grids or ())
        for name, value in self.parameters.items():
            if isinstance(value, list) and len(value) != count:
                raise ValueError(f"parameters.{name}: {len(value)} values for {count} numbers of ranks")
        for name, values in self.vary.items():
            if not values:
                raise ValueError(f"vary.{name} is empty; give a value, or leave it out")
            if name in self.parameters:
                raise ValueError(f"{name} is in parameters and in vary; leave it out of one")
        return self


class Specification(_Strict):
    """A campaign."""

    campaign: Name = Field(description="Its name.")
    description: str = _field("", "What it is for.")
    systems: Annotated[dict[Name, CampaignSystem], Field(min_length=1)] = Field(description="By name.")
    programs: Annotated[dict[Name, CampaignProgram], Field(min_length=1)] = Field(description="By name.")
    experiments: dict[Name, Experiment] = _field({}, "By name; at least one, unless there is `ramble`.")
    ramble: str | None = _field(None, "A `ramble.yaml` whose experiments run, too.")
    variants: Annotated[dict[Name, Variant], Field(min_length=1)] = _field(
        {"watched": Variant()}, "By name. [default: one, which is watched]"
    )
    repetitions: Positive = _field(1, "How often each point runs.")
    order: Literal["random", "interleaved", "written"] = _field(
        "interleaved",
        "Interleaved: all once, in random order, before any runs again; random: no such rounds.",
    )
    seed: int = _field(0, "Of the random order.")
    retries: Annotated[int, Field(ge=0, le=100)] = _field(1, "How often a run that failed is tried again.")

    @field_validator("ramble", mode="before")
    @classmethod
    def _file(cls, value: Any) -> Any:
        if isinstance(value, dict):
            raise ValueError(
                "this is a workspace of Ramble; name it so in a specification: ramble: ramble.yaml"
            )
        return value

    @model_validator(mode="after")
    def _some(self) -> Specification:
        if not self.experiments and self.ramble is None:
            raise ValueError("experiments: there are none; give one, or ramble")
        return self


SPECIFIED: dict[str, type[BaseModel]] = {
    kind.__name__: kind for kind in (Specification, CampaignSystem, CampaignProgram, Experiment, Variant)
}
