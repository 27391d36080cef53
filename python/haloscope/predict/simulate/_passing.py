"""Wrappers of all that SimGrid's MPI has and the recorder of simulations does not count.

They pass the call on. It is in `calls`; where it moves data, in `unaccounted`, too.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from haloscope.base.errors import SimulationError

__all__ = ["declared", "passing"]

_DECLARED = re.compile(r"([\w ]+?) PMPI_(\w+) ?\(([^()]*)\)")
_COUNTED = re.compile(r"^\w+ MPI_(\w+)\(|^(?:SENDS|POSTS)\((\w+)|^COLLECTIVE\((\w+), (\w+)", re.MULTILINE)
# As src/watch/meanings.py has it of the other recorder.
_MOVES = re.compile(
    r"I?neighbor_\w+|(R?(put|get|accumulate|get_accumulate))|fetch_and_op|compare_and_swap"
    r"|i?m?recv\w*|i?\w?send\w*|win_(allocate_shared|shared_query)|grequest_start"
    r"|file_i?(read|write)\w*(?<!_end)",
    re.IGNORECASE,
)
# So short that taking their time would change it, or not communication at all.
_SHORT = re.compile(
    r"Wtime|Wtick|\w+_[cf]2[cf]|Aint_\w+|Initialized|Finalized|Is_thread_main|Query_thread|Address"
    r"|(Get|Group|Type|Op|Info|Attr|Status|Keyval|Errhandler|Error)_\w+|Test_cancelled|Dims_create"
    r"|Comm_(rank|size|group|get_\w+|set_\w+|remote_\w+|test_inter|compare)|Topo_test|Cartdim_get"
    r"|Cart_(rank|coords|get|shift)|Win_(get|set)_\w+|Iprobe|Improbe|Request_get_status|Pack_size"
)


def declared(compiler: Path) -> list[tuple[str, str, str]]:
    """MPI's functions in SimGrid's headers: type, name without MPI_, parameters."""
    done = subprocess.run(
        [str(compiler), "-E", "-P", "-x", "c++", "-"],
        input="#include <smpi/smpi.h>\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = _DECLARED.findall(done.stdout)
    if done.returncode or not found:
        raise SimulationError(f"{compiler} finds no smpi/smpi.h: is SimGrid's MPI installed whole?")
    return [(returned.split()[-1], name, parameters) for returned, name, parameters in found]


def passing(functions: list[tuple[str, str, str]], recorder: str) -> str:
    """The C++ source for those functions that the recorder's source does not wrap."""
    counted = {"Pcontrol"}  # its parameters can't be passed on
    for name, more, collective, later in _COUNTED.findall(recorder):
        counted |= {name, more, collective, f"I{later}"}
    wrappers = [_wrapper(*function) for function in functions if function[1] not in counted]
    return '#include "predict/simulate/passing.hpp"\n#include <smpi/smpi.h>\n' + "".join(wrappers)


def _wrapper(returned: str, name: str, parameters: str) -> str:
    texts = [] if parameters.strip() in ("", "void") else parameters.split(",")
    names = [re.findall(r"\w+", re.sub(r"\[.*", "", text))[-1] for text in texts]
    moves, takes_time = (
        str(bool(known)).lower() for known in (_MOVES.fullmatch(name), not _SHORT.fullmatch(name))
    )
    return (
        f'extern "C" {returned} MPI_{name}({parameters}) {{\n'
        f'  const haloscope::simulate::Passed passed{{"MPI_{name}", {moves}, {takes_time}}};\n'
        f"  return PMPI_{name}({', '.join(names)});\n}}\n"
    )
