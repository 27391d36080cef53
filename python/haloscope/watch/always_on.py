"""What a centre lets every shell read, so that every MPI program is watched and none notices."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from haloscope.base.errors import LaunchError, OutputError
from haloscope.base.mpi import detect
from haloscope.base.objects import Abi
from haloscope.watch.recorder import build_recorder

__all__ = ["always", "asked_for"]

# Below the directory: a folder a day, and names that no two jobs share; a profile that is there stays.
PATTERN = "%D/%p-%n-%j-%d.halo"
_SIZE_LIMIT = "16"  # MiB of a profile


def always(
    directory: Path | str, *, mpi: Abi | None = None, mpi_include: tuple[Path, ...] = (), csh: bool = False
) -> str:
    """Return a script for `sh` or `csh` that has all programs of one MPI watched, profiles in `directory`.

    The MPI is that whose mpicc is on PATH, or `mpi` with the headers in `mpi_include`; its recorder is built
    if need be. What a user has set stays, and `HALOSCOPE_ALWAYS=0` before it keeps it from doing anything.
    Raises `LaunchError` where there is no MPI, `OutputError` if there is no such directory.

    >>> Path("/etc/profile.d/haloscope.sh").write_text(always("/scratch/profiles"))
    """
    top = Path(directory).absolute()
    if not top.is_dir():
        raise OutputError(f"{top}: no such directory; make it first, writable for those who are watched")
    found = detect(None, mpi, mpi_include)
    if found is None:
        raise LaunchError("no MPI found to watch; name one with --mpi")
    library = str(build_recorder(found.headers).always)
    pattern = os.path.join(str(top).replace("%", "%%"), PATTERN)
    name = found.headers.product or found.abi
    head = f"# Programs with {name} are watched; `haloscope history` reads the profiles.\n"
    if csh:
        return head + _for_csh(_quoted_for_csh(library), _quoted_for_csh(pattern))
    return head + _for_sh(shlex.quote(library), shlex.quote(pattern))


def _for_sh(library: str, pattern: str) -> str:
    return f"""\
if [ "${{HALOSCOPE_ALWAYS:-1}}" = 1 ] && [ -r {library} ]; then
  case ":${{LD_PRELOAD:-}}:" in
    *libhaloscope-watch.so*) ;;
    *) export LD_PRELOAD={library}"${{LD_PRELOAD:+:$LD_PRELOAD}}" ;;
  esac
  export HALOSCOPE_ALWAYS=1 HALOSCOPE_SINCE=1
  [ -n "${{HALOSCOPE_OUTPUT:-}}" ] || export HALOSCOPE_OUTPUT={pattern}
  export HALOSCOPE_SIZE_LIMIT="${{HALOSCOPE_SIZE_LIMIT:-{_SIZE_LIMIT}}}"
  # The recorder is no part of a container.
  export APPTAINERENV_LD_PRELOAD= SINGULARITYENV_LD_PRELOAD=
fi
"""


def _for_csh(library: str, pattern: str) -> str:
    # It has no default for a variable that is not set, and stops at one.
    return f"""\
if ( ! $?LD_PRELOAD ) setenv LD_PRELOAD ''
if ( ! $?HALOSCOPE_ALWAYS ) setenv HALOSCOPE_ALWAYS 1
if ( "$HALOSCOPE_ALWAYS" == 1 && -r {library} ) then
  if ( "$LD_PRELOAD" == "" ) then
    setenv LD_PRELOAD {library}
  else if ( "$LD_PRELOAD" !~ *libhaloscope-watch.so* ) then
    setenv LD_PRELOAD {library}:"$LD_PRELOAD"
  endif
  setenv HALOSCOPE_SINCE 1
  if ( ! $?HALOSCOPE_OUTPUT ) setenv HALOSCOPE_OUTPUT {pattern}
  if ( ! $?HALOSCOPE_SIZE_LIMIT ) setenv HALOSCOPE_SIZE_LIMIT {_SIZE_LIMIT}
  # The recorder is no part of a container.
  setenv APPTAINERENV_LD_PRELOAD ''
  setenv SINGULARITYENV_LD_PRELOAD ''
endif
if ( "$LD_PRELOAD" == "" ) unsetenv LD_PRELOAD
"""


def _quoted_for_csh(text: str) -> str:
    """Return a text in quotes; even within them `!` stands for the history."""
    return shlex.quote(text).replace("!", "\\!")


def asked_for(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what the script of `always` has set: here somebody asks for a profile."""
    asked = dict(environment)
    if asked.pop("HALOSCOPE_ALWAYS", "") != "1":
        return dict(environment)
    asked.pop("HALOSCOPE_SINCE", None)
    if asked.get("HALOSCOPE_OUTPUT", "").endswith(PATTERN):
        asked.pop("HALOSCOPE_OUTPUT")
        asked["HALOSCOPE_SIZE_LIMIT"] = "0"
    return asked | {"HALOSCOPE_ALWAYS": "0"}
