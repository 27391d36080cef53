"""Programs that mark nothing and whose number of iterations is known."""

from __future__ import annotations

from dataclasses import dataclass

# In place of the header of markers, whose guard this is: markers that do nothing.
UNMARKED = """
#define HALOSCOPE_REGION_HPP
namespace haloscope {
struct Region { template <class T> explicit Region(T &&) {} ~Region() {} };
struct CommRegion { template <class T> explicit CommRegion(T &&) {} ~CommRegion() {} };
}
"""
# Bundled applications: options for 4 ranks, and iterations.
BUNDLED = [
    ("cg", "--nx 16 --ny 16 --nz 16 --iterations 33", 33),
    ("sweep", "--procs 2,2,1 --zones 12,12,12 --niter 27", 27),
]


@dataclass(frozen=True)
class Deck:
    """An input of LAMMPS: its steps, when lists are rebuilt, how hot it is, and its ranks (0: any)."""

    steps: int
    rebuild: str
    output: int = 50
    temperature: float = 3.0
    ranks: int = 0


LAMMPS = {
    "every 20 steps": Deck(130, "every 20 delay 0 check no"),
    "if it has to": Deck(87, "every 1 delay 0 check yes", output=10),
    "if it has to, late": Deck(137, "every 1 delay 5 check yes", output=10, temperature=1.44),
    "at even steps": Deck(200, "every 2 delay 4 check yes", output=25, temperature=2.0),
}
# Ranks in a row, whose neighbours change with the lists.
LAMMPS_IN_A_ROW = {
    "every 10 steps, in a row": Deck(93, "every 10 delay 0 check no", output=13, ranks=5),
    "every 7 steps, in a row": Deck(120, "every 7 delay 0 check no", output=11, ranks=5),
    "if it has to, in a row": Deck(91, "every 1 delay 5 check yes", output=13, temperature=2.0, ranks=5),
    "every 15 steps, in a row": Deck(150, "every 15 delay 0 check no", output=40, temperature=1.0, ranks=5),
}


def lammps_deck(deck: Deck, seed: int = 87287) -> str:
    """Return the text of the input: a Lennard-Jones liquid of 2048 atoms, with velocities by the seed."""
    return f"""
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create {deck.temperature} {seed}
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify {deck.rebuild}
fix 1 all nve
thermo {deck.output}
run {deck.steps}
"""


_BLOCKS = "--nx 4 --ny 4 --nz 4 --num_vars 4 --init_x 1 --init_y 1 --init_z 1 --max_blocks 4000"
_MOVES = "--num_objects 1 --object 2 0 -1.71 -1.71 -1.71 0.04 0.04 0.04 1.7 1.7 1.7 0 0 0"
_TWO = (
    "--num_objects 2 --object 2 0 .3 .3 .3 .02 .01 0 .2 .2 .2 .01 .01 .01"
    " --object 4 1 .8 .8 .5 -.02 -.01 .01 .15 .15 .15 0 0 0"
)


def _refined(objects: str, ranks: int, steps: int, levels: int, every: int) -> tuple[str, int, int]:
    """Return options of miniAMR, ranks, and iterations, for a mesh that is refined every few steps."""
    options = f"{_BLOCKS} --npx {ranks // 2} --npy 2 {objects} --num_tsteps {steps} --num_refine {levels}"
    return f"{options} --stages_per_ts 8 --checksum_freq 8 --refine_freq {every}", ranks, steps


# Options of miniAMR, ranks, and iterations, which are from one checksum to the next.
MINIAMR = [
    (f"{_BLOCKS} --npx 2 --npy 2 {_MOVES} --num_tsteps 30 --num_refine 3", 4, 120),
    (
        f"{_BLOCKS} --npx 3 --npy 2 {_TWO} --num_tsteps 43 --num_refine 2 --stages_per_ts 8"
        " --checksum_freq 8 --refine_freq 7",
        6,
        43,
    ),
    (
        f"{_BLOCKS} --npx 2 {_TWO} --num_tsteps 30 --num_refine 3 --stages_per_ts 2 --checksum_freq 1"
        " --refine_freq 4",
        2,
        60,
    ),
    (
        f"{_BLOCKS} --npx 5 {_MOVES} --num_tsteps 36 --num_refine 2 --stages_per_ts 9 --checksum_freq 3"
        " --refine_freq 6",
        5,
        108,
    ),
    _refined(_TWO, 4, 20, 2, 1),
    _refined(_TWO, 4, 20, 2, 2),
]
# The same, if two steps and the calls between them repeat, and if some ranks make too many calls.
FRESH_MINIAMR = [_refined(_MOVES, 4, 20, 2, 2), _refined(_TWO, 6, 33, 3, 3)]
