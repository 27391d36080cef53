"""A script for the shells of a whole site, by which every MPI program is profiled without notice."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from haloscope.base.errors import LaunchError, OutputError
from haloscope.base.mpi import detect
from haloscope.base.objects import Abi
from haloscope.watch.recorder import build_recorder

# Below the directory: a folder per day, and names that no two jobs share. An existing profile stays.
PATTERN = "%D/%p-%n-%j-%d.halo"
_SIZE_LIMIT = "16"  # MiB per profile


def always(
    directory: Path | str, *, mpi: Abi | None = None, mpi_include: tuple[Path, ...] = (), csh: bool = False
) -> str:
    """Return a script for `sh` or `csh` by which all programs of one MPI are profiled.

    A user's own settings have precedence. `HALOSCOPE_ALWAYS=0`, set before, switches the script off. The
    recorder is built if necessary.

    Args:
        directory: Directory of the profiles; it must exist, and users must be able to write to it.
        csh: Return a script for `csh`.
        mpi: Binary interface of the MPI; the default is that of the mpicc on PATH.
        mpi_include: Directories of that MPI's mpi.h.

    Raises:
        LaunchError: If there is no MPI.
        OutputError: If there is no such directory.

    Examples:
        >>> Path("/etc/profile.d/haloscope.sh").write_text(always("/scratch/profiles"))
    """
    top = Path(directory).absolute()
    if not top.is_dir():
        raise OutputError(f"{top}: no such directory; make it first, writable for the users to be profiled")
    found = detect(None, mpi, mpi_include)
    if found is None:
        raise LaunchError("no MPI found to profile; name one with --mpi")
    library = str(build_recorder(found.headers).always)
    pattern = os.path.join(str(top).replace("%", "%%"), PATTERN)
    name = found.headers.product or found.abi
    head = f"# Programs with {name} are profiled; `haloscope history` reads the profiles.\n"
    if csh:
        return head + _write_for_csh(_quote_for_csh(library), _quote_for_csh(pattern))
    return head + _write_for_sh(shlex.quote(library), shlex.quote(pattern))


def _write_for_sh(library: str, pattern: str) -> str:
    return f"""\
if [ "${{HALOSCOPE_ALWAYS:-1}}" = 1 ] && [ -r {library} ]; then
  case ":${{LD_PRELOAD:-}}:" in
    *libhaloscope-watch.so*) ;;
    *) export LD_PRELOAD={library}"${{LD_PRELOAD:+:$LD_PRELOAD}}" ;;
  esac
  export HALOSCOPE_ALWAYS=1 HALOSCOPE_SINCE=1
  [ -n "${{HALOSCOPE_OUTPUT:-}}" ] || export HALOSCOPE_OUTPUT={pattern}
  export HALOSCOPE_SIZE_LIMIT="${{HALOSCOPE_SIZE_LIMIT:-{_SIZE_LIMIT}}}"
  # A container does not have the recorder.
  export APPTAINERENV_LD_PRELOAD= SINGULARITYENV_LD_PRELOAD=
fi
"""


def _write_for_csh(library: str, pattern: str) -> str:
    # csh has no defaults for variables, and stops at one that is not set.
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
  # A container does not have the recorder.
  setenv APPTAINERENV_LD_PRELOAD ''
  setenv SINGULARITYENV_LD_PRELOAD ''
endif
if ( "$LD_PRELOAD" == "" ) unsetenv LD_PRELOAD
"""


def _quote_for_csh(text: str) -> str:
    """Return a text in quotes for csh, where `!` means the history even in quotes."""
    return shlex.quote(text).replace("!", "\\!")


def remove_always_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables that `always` has set, as the user asks for a profile."""
    asked = dict(environment)
    if asked.pop("HALOSCOPE_ALWAYS", "") != "1":
        return dict(environment)
    asked.pop("HALOSCOPE_SINCE", None)
    if asked.get("HALOSCOPE_OUTPUT", "").endswith(PATTERN):
        asked.pop("HALOSCOPE_OUTPUT")
        asked["HALOSCOPE_SIZE_LIMIT"] = "0"
    return asked | {"HALOSCOPE_ALWAYS": "0"}
