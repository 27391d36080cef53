"""tomli-w for Spack, newer than the one that Spack brings."""

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyTomliW(PythonPackage):
    """A writer of TOML."""

    homepage = "https://github.com/hukkin/tomli-w"
    pypi = "tomli_w/tomli_w-1.2.0.tar.gz"

    license("MIT")

    version("1.2.0", sha256="2dd14fac5a47c27be9cd4c976af5a12d87fb1f0b4512f81d69cce3b35ae25021")

    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-flit-core@3.2:3", type="build")
