"""PSI/J for Spack, newer than the one that Spack brings."""

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyPsijPython(PythonPackage):
    """One interface to the schedulers of clusters."""

    homepage = "https://exaworks.org/psij-python"
    pypi = "psij-python/psij-python-0.9.11.tar.gz"

    license("MIT")

    version("0.9.11", sha256="de069062d96e6a75a646594cecac67dfa090ab9a0f13a112c0efb97526286e37")

    depends_on("python@3.8:", type=("build", "run"))
    depends_on("py-setuptools", type="build")
    depends_on("py-psutil@5.9:7.0.0", type=("build", "run"))
    depends_on("py-pystache@0.6:", type=("build", "run"))
    depends_on("py-typeguard@3.0.1:", type=("build", "run"))
    depends_on("py-packaging@24:25", type=("build", "run"))
