"""Programs that mark nothing and whose number of iterations is known."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BUNDLED", "LAMMPS", "UNMARKED", "Deck", "lammps_deck"]

# In place of the header of markers, whose guard this is: markers that do nothing.
UNMARKED = """
#define HALOSCOPE_REGION_HPP
namespace haloscope {
struct Region { template <class T> explicit Region(T &&) {} ~Region() {} };
struct CommRegion { template <class T> explicit CommRegion(T &&) {} ~CommRegion() {} };
}
"""
# Bundled applications: options for 4 ranks, and iterations. Those of amr are from one sum to the next.
BUNDLED = [
    ("cg", "--nx 16 --ny 16 --nz 16 --iterations 33", 33),
    ("sweep", "--procs 2,2,1 --zones 12,12,12 --niter 27", 27),
]


@dataclass(frozen=True)
class Deck:
    """An input of LAMMPS: its steps, when lists are rebuilt, and how hot it is."""

    steps: int
    rebuild: str
    output: int = 50
    temperature: float = 3.0


LAMMPS = {
    "every 20 steps": Deck(130, "every 20 delay 0 check no"),
    "if it has to": Deck(87, "every 1 delay 0 check yes", output=10),
    "if it has to, late": Deck(137, "every 1 delay 5 check yes", output=10, temperature=1.44),
    "at even steps": Deck(200, "every 2 delay 4 check yes", output=25, temperature=2.0),
}


def lammps_deck(deck: Deck) -> str:
    """Return the text of the input: a Lennard-Jones liquid of 2048 atoms."""
    return f"""
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create {deck.temperature} 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify {deck.rebuild}
fix 1 all nve
thermo {deck.output}
run {deck.steps}
"""
