#!/bin/bash
# bare.sh COMMAND...: run a command in a fresh clone, on a machine that has only the packages in the first line of
# tools/debian-packages.txt. The other packages, and what only they need, are hidden from this command alone, in a
# name space and an overlay of its own. Where that is impossible, the reason is printed and the command is not run.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "not run without packages: $*"; exit 0; }
[ "$(id -u)" = 0 ] || skip "hiding packages needs root"
command -v dpkg-query >/dev/null || skip "this is no Debian"

if [ "${1:-}" != --hidden ]; then
  unshare --mount true 2>/dev/null || skip "no name spaces here"
  exec unshare --mount "$0" --hidden "$@"
fi
shift

scratch=$(mktemp -d)
mount -t tmpfs none "$scratch"
mkdir "$scratch/upper" "$scratch/work"
mount -t overlay none -o "lowerdir=/usr,upperdir=$scratch/upper,workdir=$scratch/work" /usr 2>/dev/null ||
  skip "no overlay on /usr"

python3 - <<'END' | xargs -0 rm -f --
import re, subprocess
from pathlib import Path

lines = Path("tools/debian-packages.txt").read_text().splitlines()
words = [line.partition("#")[0].split() for line in lines]
ground, wanted = next(filter(None, words)), [w for some in list(filter(None, words))[1:] for w in some]
form = "${Package}\t${Priority}\t${Essential}\t${Pre-Depends},${Depends}\n"
shown = subprocess.run(["dpkg-query", "-W", "-f", form], capture_output=True, text=True, check=True)
needs, basis = {}, set(ground)
for line in shown.stdout.splitlines():
    package, priority, essential, depends = line.split("\t")
    needs[package] = re.findall(r"(?:^|[,|])\s*([^\s,|:(]+)", depends)
    if essential == "yes" or priority in ("required", "important"):
        basis.add(package)

def closure(roots):
    found, left = set(), [root for root in roots if root in needs]
    while left:
        package = left.pop()
        if package not in found:
            found.add(package)
            left += [other for other in needs[package] if other in needs]
    return found

hidden = (closure(wanted) - closure(basis - set(wanted))) | (set(wanted) & set(needs))
listed = subprocess.run(["dpkg", "-L", *hidden], capture_output=True, text=True, check=True)
for name in listed.stdout.splitlines():
    path = Path(name)
    if path.is_symlink() or path.is_file():
        real = path.parent.resolve() / path.name
        if real.is_relative_to("/usr"):
            print(real, end="\0")
END
command -v mpicc.openmpi lstopo ps && { echo "packages could not be hidden" >&2; exit 1; }

clone=$PWD/build/bare
rm -rf "$clone"
git clone --quiet . "$clone"
cd "$clone"
env -u CI TERM=dumb "$@"
