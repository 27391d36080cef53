"""Generates a library's wrappers from the MPI standard's machine-readable interface.

The MPI's headers declare its functions. A library's meanings.py names a C++ function of its families.hpp for
each. The build runs this script. Its output is not committed.

    generate.py HEADER.i ABI LIBRARY OUTPUT     HEADER.i: the preprocessed mpi.h

LIBRARY and OUTPUT are directories. OUTPUT gets interpose/real.hpp, and a directory with the name of LIBRARY
in `src`. In that are wrappers.cpp, fortran_wrappers.cpp and the library's own headers.
"""

import sys
from importlib import import_module
from pathlib import Path

import pympistandard as standard
from fortran import fortran_wrappers
from functions import by_name, declared_names, extensions, procedures, short_name
from wrappers import Library, real_header, source

SOURCES = Path(__file__).resolve().parents[1]


def main() -> None:
    header, place, output = (Path(sys.argv[i]) for i in (1, 3, 4))
    sys.path.insert(1, str(place))
    standard.use_api_version()
    names = declared_names(header)
    found = procedures(names)
    if not any(short_name(p) == "Init" for p in found):
        sys.exit(f"generate.py: {header} declares no PMPI_Init: is it a preprocessed mpi.h?")
    library: Library = import_module("meanings").LIBRARY
    room = place.resolve().relative_to(SOURCES).as_posix()
    beyond = extensions(header)
    wrappers = [*map(library.wrapper, found), *map(library.extension, beyond)]
    in_fortran = fortran_wrappers(by_name(names), sys.argv[2], library)
    texts = {
        "interpose/real.hpp": real_header([*found, *beyond]),
        f"{room}/wrappers.cpp": source(room, library.namespace, [*filter(None, wrappers)]),
        f"{room}/fortran_wrappers.cpp": source(room, library.namespace, in_fortran, library.fortran_header),
        **{f"{room}/{name}": text for name, text in library.headers([*found, *beyond]).items()},
    }
    for name, text in texts.items():
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        (output / name).write_text(text)


if __name__ == "__main__":
    main()
