"""Platforms, described in YAML: kind of network, sizes and speeds."""

from __future__ import annotations

from decimal import Decimal
from importlib.resources import files
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from haloscope.base import units
from haloscope.base.errors import MachineError
from haloscope.predict.described_files import (
    find_described,
    list_names,
    make_error,
    parse_yaml,
    read_described,
)
from haloscope.predict.machine_files import load_machine, machines

Time = Annotated[Decimal, BeforeValidator(units.time)]
Speed = Annotated[Decimal, BeforeValidator(units.speed)]
Count = Annotated[int, Field(ge=1, le=1 << 20)]
Sharing = Literal["splitduplex", "shared", "fatpipe"]
SPEED = 1_000_000_000
"""Flops per second of a simulated core: a second of computing is this number of flops."""
_MOST_HOSTS = 1 << 17
_N = TypeVar("_N", bound="Network")
_SHIPPED = files("haloscope.predict.simulate") / "platforms"
_PAGE = "simulate.md"


def factorise_near_cube(count: int) -> tuple[int, int, int]:
    """Return the three factors of `count` with the smallest sum, largest first."""
    best = (count, 1, 1)
    for z in range(1, round(count ** (1 / 3)) + 2):
        if count % z:
            continue
        for y in range(z, int((count // z) ** 0.5) + 1):
            if count // z % y == 0 and count // z // y + y + z < sum(best):
                best = (count // z // y, y, z)
    return best


def fit_tree(hosts: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return a tree of one width that tapers 2:1: two levels up to 64 hosts, else three."""
    levels = 2 if hosts <= 64 else 3
    width = next(width for width in range(2, hosts + 2) if width**levels >= hosts)
    up = (1, *((max(1, width // 2),) * (levels - 1)))
    return (width,) * levels, up, (1,) * levels


def fit_dragonfly(hosts: int) -> tuple[int, int, int, int]:
    """Return a dragonfly of powers of two. SimGrid needs at least as many routers per chassis as groups."""
    nodes = 2 if hosts <= 1024 else 4
    powers = [1 << power for power in range(10)]
    shapes = [
        (groups, chassis, routers, nodes)
        for groups, chassis, routers in product(powers, repeat=3)
        if chassis <= routers and groups <= routers <= 4 * groups
    ]
    fitting = [shape for shape in shapes if prod(shape) >= hosts]
    return min(fitting, key=lambda shape: (prod(shape), sum(shape)))


class _Described(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1)]
    description: str = ""


class Network(_Described):
    """Properties of all networks: one kind of link, and hosts with the same number of cores."""

    bandwidth: Speed
    latency: Time
    cores: Count = 1
    """Ranks per host; they communicate over its loopback."""
    loopback_bandwidth: Speed = Decimal("20e9")
    loopback_latency: Time = Decimal("100e-9")
    sharing: Sharing = "splitduplex"
    """Sharing of a link: each direction separately, both together, or no contention."""
    memory_bandwidth: Speed | None = None
    """Of a host's memory. Its computing ranks share it."""
    core_bandwidth: Speed | None = None
    """Of the memory, for a rank that computes alone on a host."""

    @model_validator(mode="after")
    def _memory(self) -> Network:
        if (self.memory_bandwidth is None) != (self.core_bandwidth is None):
            raise ValueError("shared memory needs both memory_bandwidth and core_bandwidth, or neither")
        return self

    @property
    def cores_at_once(self) -> float | None:
        """The number of ranks of a host that compute at full speed, None if the memory suffices for all."""
        if self.memory_bandwidth is None or self.core_bandwidth is None:
            return None
        ratio = float(self.memory_bandwidth / self.core_bandwidth)
        return ratio if ratio < self.cores else None

    @property
    def processor(self) -> tuple[int, float]:
        """The cores of a host in SimGrid, and their flops per second.

        A host whose ranks share memory is one processor for all of them. Each gets at most a core's speed.
        """
        return (self.cores, SPEED) if self.cores_at_once is None else (1, SPEED * self.cores_at_once)

    def hosts(self, ranks: int) -> int:
        """Return the number of hosts of the network for `ranks` ranks."""
        raise NotImplementedError

    def parameters(self, ranks: int) -> str:
        """Return SimGrid's `topo_parameters`."""
        raise NotImplementedError

    def count_hosts(self, ranks: int) -> int:
        """Return the number of hosts that `ranks` ranks fill."""
        return -(-ranks // self.cores)


class FatTree(Network):
    """Switches in levels; without sizes, the smallest tree that tapers 2:1 and has room for the ranks."""

    topology: Literal["fat_tree"]
    routing: Literal["d-mod-k", "random"] = "d-mod-k"
    down: tuple[Count, ...] | None = None
    up: tuple[Count, ...] | None = None
    parallel: tuple[Count, ...] | None = None

    @model_validator(mode="after")
    def _levels(self) -> FatTree:
        given = [value for value in (self.down, self.up, self.parallel) if value is not None]
        if given and (self.down is None or self.up is None):
            raise ValueError("a fat tree needs both down and up, or neither")
        if len({len(value) for value in given}) > 1:
            raise ValueError("down, up and parallel need one number per level")
        return _check_size(self)

    def levels(self, ranks: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return the numbers of links down, links up, and cables per link of each level."""
        if self.down is None or self.up is None:
            return fit_tree(self.count_hosts(ranks))
        return self.down, self.up, self.parallel or (1,) * len(self.down)

    def hosts(self, ranks: int) -> int:
        return prod(self.levels(ranks)[0])

    def parameters(self, ranks: int) -> str:
        tree = self.levels(ranks)
        return ";".join([str(len(tree[0])), *(",".join(map(str, part)) for part in tree)])


class Torus(Network):
    """A periodic grid; without sizes, the one nearest to a cube."""

    topology: Literal["torus"]
    routing: Literal["dimension-order"] = "dimension-order"
    dimensions: Annotated[tuple[Count, ...], Field(min_length=1, max_length=6)] | None = None

    @model_validator(mode="after")
    def _size(self) -> Torus:
        return _check_size(self)

    def _sizes(self, ranks: int) -> tuple[int, ...]:
        sizes = self.dimensions or factorise_near_cube(self.count_hosts(ranks))
        # In a dimension of size one, SimGrid would make a host its own neighbour.
        return tuple(size for size in sizes if size > 1) or (2,)

    def hosts(self, ranks: int) -> int:
        return prod(self._sizes(ranks))

    def parameters(self, ranks: int) -> str:
        return ",".join(map(str, self._sizes(ranks)))


class Dragonfly(Network):
    """Connected groups of chassis of routers; without sizes, one with room for all ranks."""

    topology: Literal["dragonfly"]
    routing: Literal["minimal", "valiant"] = "minimal"
    groups: Count | None = None
    chassis: Count | None = None
    routers: Count | None = None
    nodes: Count | None = None
    links: Annotated[tuple[Count, Count, Count], Field(min_length=3, max_length=3)] = (2, 1, 2)
    """Parallel links between groups, between chassis, between routers."""

    @model_validator(mode="after")
    def _fits(self) -> Dragonfly:
        sizes = (self.groups, self.chassis, self.routers, self.nodes)
        if any(size is None for size in sizes) and any(size is not None for size in sizes):
            raise ValueError("a dragonfly needs groups, chassis, routers and nodes, or none of them")
        if self.groups and self.routers and self.routers < self.groups:
            raise ValueError(
                f"SimGrid needs at least one router per chassis and group: {self.routers} "
                f"routers, {self.groups} groups"
            )
        return _check_size(self)

    def sizes(self, ranks: int) -> tuple[int, int, int, int]:
        """Return the numbers of groups, chassis per group, routers per chassis, and hosts per router."""
        if self.groups and self.chassis and self.routers and self.nodes:
            return self.groups, self.chassis, self.routers, self.nodes
        return fit_dragonfly(self.count_hosts(ranks))

    def hosts(self, ranks: int) -> int:
        return prod(self.sizes(ranks))

    def parameters(self, ranks: int) -> str:
        groups, chassis, routers, nodes = self.sizes(ranks)
        a, b, c = self.links
        return f"{groups},{a};{chassis},{b};{routers},{c};{nodes}"


class MachinePlatform(_Described):
    """The cores of a machine model, with exactly its latencies between all pairs."""

    topology: Literal["machine"] = "machine"
    machine: Annotated[str, Field(min_length=1)]

    @field_validator("machine")
    @classmethod
    def _one_line(cls, text: str) -> str:
        return text.strip()


Platform = FatTree | Torus | Dragonfly | MachinePlatform


def _check_size(network: _N) -> _N:
    hosts = network.hosts(1)
    if hosts > _MOST_HOSTS:
        raise ValueError(f"{hosts} hosts are more than {_MOST_HOSTS}")
    return network


_KINDS: dict[str, type[FatTree | Torus | Dragonfly | MachinePlatform]] = {
    "fat_tree": FatTree,
    "torus": Torus,
    "dragonfly": Dragonfly,
    "machine": MachinePlatform,
}


def platforms() -> list[str]:
    """Return the names of the platforms of Haloscope, including machine models."""
    return sorted({*list_names(_SHIPPED), *machines()})


def load_platform(platform: str | Path) -> Platform:
    """Read a platform.

    Args:
        platform: A name from `platforms()`, or the YAML file of a platform or machine.

    Raises:
        MachineError: The file cannot be found, read or parsed.
    """
    name = str(platform)
    if name in machines():
        return MachinePlatform(name=name, machine=name)
    file = find_described(name, _SHIPPED, platforms(), "platform")
    values = parse_yaml(read_described(file, name, "platform"), name)
    if isinstance(values, dict) and "levels" in values:  # a machine model itself
        return MachinePlatform(name=load_machine(name).name, machine=name)
    if not isinstance(values, dict):
        raise MachineError(f"{name}: not a platform; see docs/reference/{_PAGE} for the form")
    if "machine" in values and "topology" not in values:
        values["topology"] = "machine"
    kind = _KINDS.get(str(values.get("topology")))
    if kind is None:
        known = ", ".join(_KINDS)
        raise MachineError(
            f"{name}: topology: must be one of {known}; see docs/reference/{_PAGE} for the form"
        )
    try:
        return kind.model_validate({"name": Path(name).stem, **values})
    except ValidationError as error:
        raise make_error(error, name, "platform", _PAGE) from None
