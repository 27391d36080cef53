"""Haloscope for Spack 1.0 and newer.

In a checkout: `spack repo add packaging/spack/spack_repo/haloscope`, `spack dev-build py-haloscope@0.1.0`.
"""

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyHaloscope(PythonPackage):
    """Watches what the processes of an MPI program say to each other, and explains it."""

    license("BSD-3-Clause")

    version("0.1.0")

    variant("statistics", default=True, description="Regimes, comparisons, checks, measurements and models")
    variant("pages", default=True, description="The script of pages")
    variant("campaign", default=True, description="Runs of campaigns")
    variant(
        "build", default=True, description="Build what stands before an MPI that nothing is ready-made for"
    )

    depends_on("cxx", type="build")
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.12:", type="build")
    depends_on("cmake@3.24:", type="build")

    depends_on("py-click@8.1:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-plotly@6:", type=("build", "run"), when="+pages")
    depends_on("py-polars@1.20:", type=("build", "run"))
    depends_on("py-pydantic@2.9:", type=("build", "run"))
    depends_on("py-pyyaml@6:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("py-tomli@2:", type=("build", "run"), when="^python@:3.10")
    depends_on("py-tomli-w@1.1:", type=("build", "run"))
    depends_on("py-zlib-ng@0.5:", type=("build", "run"))

    depends_on("py-psij-python@0.9.11:", type=("build", "run"), when="+campaign")
    depends_on("py-scipy@1.13:", type=("build", "run"), when="+statistics")
    depends_on("cmake@3.24:", type="run", when="+build")
    depends_on("ninja@1.11:", type="run", when="+build")
    depends_on("py-pympistandard@0.2:", type=("build", "run"), when="+build")
