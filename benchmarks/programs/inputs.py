"""Print a generated input.

    inputs.py genome BASES
    inputs.py reads BASES COVERAGE
    inputs.py phylip|nexus|fasta TAXA SITES
    inputs.py grid SIDE

Needs Python's standard library only, because programs.toml calls it beside the installed programs.
"""

import random
import sys

SOURCE = random.Random(42)


def sequence(length: int) -> str:
    return "".join(SOURCE.choices("ACGT", k=length))


def reads(bases: int, coverage: int, length: int = 100) -> None:
    """Print reads of a random genome."""
    genome = sequence(bases)
    for number in range(bases * coverage // length):
        at = SOURCE.randrange(bases - length)
        print(f">r{number}\n{genome[at : at + length]}")


def alignment(form: str, taxa: int, sites: int) -> None:
    """Print aligned sequences that descend from each other."""
    rows = [sequence(sites)]
    while len(rows) < taxa:
        parent = SOURCE.choice(rows)
        rows.append("".join(SOURCE.choice("ACGT") if SOURCE.random() < 0.15 else base for base in parent))
    if form == "phylip":
        print(f" {taxa} {sites}")
    elif form == "nexus":
        print(f"#NEXUS\nbegin data;\ndimensions ntax={taxa} nchar={sites};\nformat datatype=dna;\nmatrix")
    for number, row in enumerate(rows):
        print(f">t{number:02}\n{row}" if form == "fasta" else f"t{number:02}       {row}")
    if form == "nexus":
        print(";\nend;")


def grid(side: int) -> None:
    """Print a graph of a cube's cells in Scotch's format."""
    cells = side**3
    near: list[list[int]] = [[] for _ in range(cells)]
    for cell in range(cells):
        for step in (1, side, side * side):
            if cell // step % side < side - 1:
                near[cell].append(cell + step)
                near[cell + step].append(cell)
    print(f"0\n{cells} {sum(map(len, near))}\n0 000")
    for row in near:
        print(len(row), *row)


def main() -> None:
    kind, *numbers = sys.argv[1:]
    sizes = list(map(int, numbers))
    if kind == "genome":
        print(f">genome\n{sequence(sizes[0])}")
    elif kind == "reads":
        reads(*sizes)
    elif kind == "grid":
        grid(*sizes)
    else:
        alignment(kind, *sizes)


main()
