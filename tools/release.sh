#!/bin/sh
# Makes a release of the version in pyproject.toml, up to its tag. `make release` calls it.
set -eu
cd "$(dirname "$0")/.."
bin=$PWD/.venv/bin
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
die() { echo "$*" >&2; exit 1; }
[ -z "$(git status --porcelain)" ] || die "commit first: a release is made of a commit"
grep -q "^version: $version\$" CITATION.cff || die "CITATION.cff: is not of version $version"
[ -f "tests/data/$version.halo" ] || die "tests/data/$version.halo: missing: python tools/keep_profile.py tests/data"
! grep -q "^## $version " CHANGELOG.md || die "CHANGELOG.md: has $version already: raise the version in pyproject.toml"
[ "$(grep -c '^## Unreleased$' CHANGELOG.md)" = 1 ] || die "CHANGELOG.md: needs one section \"## Unreleased\""
sed -i "s/^## Unreleased\$/## $version ($(git log -1 --format=%cs))/" CHANGELOG.md
git commit --quiet --all --message "Version $version"
# The bill of materials lists the locked packages with the licences that their metadata state.
"$bin/python" -m venv --clear build/runtime
build/runtime/bin/python -m pip --disable-pip-version-check --quiet install \
  --require-hashes --only-binary :all: -r requirements/runtime.lock
"$bin/cyclonedx-py" environment build/runtime/bin/python --pyproject pyproject.toml --output-reproducible --validate \
  --output-file build/sbom.cdx.json
HALOSCOPE_SBOM=$PWD/build/sbom.cdx.json "$bin/python" tools/wheel.py dist
cat <<END
Left to do by a person:
  HALOSCOPE_SBOM=build/sbom.cdx.json make wheel-aarch64
  look at $(git log -1 --format=%h), and at the files in dist/
  git tag v$version && git push origin HEAD v$version
  upload dist/haloscope-$version* to PyPI (twine upload)
END
