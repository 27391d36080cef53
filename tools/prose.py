"""Plain English: sentences over 30 words, and idioms that other projects' documentation does not have.

`python tools/prose.py` prints a row per folder, and fails on a folder above its limits.
`python tools/prose.py FOLDER...` prints each long sentence and each idiom in these folders.

It reads Markdown (paragraphs and cells of tables), docstrings, comments, and the strings of `python` and
`src`, which users see as help, messages and pages. A folder may have one idiom per 1000 words and 7 % of its
sentences over 30 words.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
MOST_WORDS = 30
MOST_IDIOMS = 1 / 1000  # per word
MOST_LONG = 0.07  # of all sentences
LEAST_WORDS, LEAST_SENTENCES = 2000, 100  # smaller folders have the limits of a folder of this size
IDIOMS = re.compile(
    r"\b(tells?|told|telling|nobody|anew|likewise|another one|nought|by turns|for certain|surely|made-up"
    r"|beside|lacks?|dear|stands? (?:for|in|at|there|beside|above|here)|its kin|their like|the like|whose are"
    r"|what (?:is|it|has|was|of|they|that|lacks|stands|holds)|who (?:waits|asks|wants|has|comes|runs)"
    r"|room of|rooms|the house|so many|so much|as many|as it was|of all that|of those that"
    r"|(?:bytes|calls|seconds|time|messages|nanoseconds|instances|lines) an? (?:rank|call|process|instance"
    r"|node|message|step|event|partner|thread|run|region|second|iteration)s?)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z@`*\"'(])")
_WORD = re.compile(r"[A-Za-z][\w'-]*")
_CODE_BLOCK = re.compile(r"(?<=\n\n)(?: {4}.*(?:\n|$))+")  # of a docstring
_EXAMPLES = re.compile(r"\x08\n.*?(?:\n\n|$)", re.DOTALL)  # of a command's help
_C_COMMENT = re.compile(r"^\s*(?://|\*|/\*) ?(?! {4})(.*?)(?:\*/)?$")
_SUFFIXES = (".md", ".py", ".cpp", ".hpp", ".h", ".c")
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

Text = tuple[int, str]  # line, text
Sentence = tuple[str, int, str, int, list[str]]  # file, line, text, number of words, idioms


def markdown_texts(source: str, _: bool) -> Iterator[Text]:
    """Yield paragraphs and cells of tables, without code."""
    source = re.sub(r"```.*?```", lambda code: "\n" * code.group().count("\n"), source, flags=re.DOTALL)
    line = 1
    for part in source.split("\n\n"):
        clean = re.sub(r"(?m)^ *-(?= )|\]\([^)]*\)|<!--.*?-->|[*_#\[\]]", " ", part)
        if clean.lstrip().startswith("|"):
            for number, row in enumerate(clean.splitlines(), line):
                yield from ((number, cell) for cell in row.split("|"))
        else:
            yield line, clean
        line += part.count("\n") + 2


def python_texts(source: str, with_strings: bool) -> Iterator[Text]:
    """Yield docstrings, comments and, if asked for, strings."""
    documentation = set()
    for node in (nodes := list(ast.walk(ast.parse(source)))):
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
            documentation.add(id(getattr(node.body[0], "value", None)))
            yield getattr(node, "lineno", 1), _CODE_BLOCK.sub("", text)
    yield from comments(source, re.compile(r"^\s*# ?(.*)$"))
    for node in nodes if with_strings else ():
        value = node.value if isinstance(node, ast.Constant) and id(node) not in documentation else None
        if isinstance(value, str) and is_prose(value):
            yield getattr(node, "lineno", 1), _EXAMPLES.sub("", value)


def c_texts(source: str, with_strings: bool) -> Iterator[Text]:
    """Yield comments and, if asked for, strings."""
    yield from comments(source, _C_COMMENT)
    for match in re.finditer(r'"((?:[^"\\\n]|\\.)*)"', source) if with_strings else ():
        if is_prose(match.group(1)):
            yield source.count("\n", 0, match.start()) + 1, match.group(1)


def is_prose(string: str) -> bool:
    """Whether a string is a text that users read, not a name or a template."""
    return len(re.findall(r"\b[a-z]{2,}\b", string)) >= 4 and not string.startswith("{")


def comments(source: str, pattern: re.Pattern[str]) -> Iterator[Text]:
    """Yield comments that have lines of their own; adjacent lines are one text."""
    block: list[str] = []
    for number, line in enumerate([*source.splitlines(), ""], 1):
        if match := pattern.match(line):
            block.append(match.group(1))
        elif block:
            yield number - len(block), " ".join(block)
            block = []


def sentences(file: str) -> Iterator[Sentence]:
    """Yield the sentences of a file, of three words or more."""
    source = (CHECKOUT / file).read_text("utf-8", errors="replace")
    read = {".md": markdown_texts, ".py": python_texts}.get(Path(file).suffix, c_texts)
    for line, text in read(source, file.startswith(("python/", "src/"))):
        for part in _SENTENCE_END.split(" ".join(text.split())):
            if (words := len(_WORD.findall(part))) >= 3:
                yield file, line, part, words, [match.group() for match in IDIOMS.finditer(part)]


def folder_of(file: str) -> str:
    """Return the folder whose limits hold for a file: a package, or a part of the docs or tests."""
    folders = file.replace("python/haloscope/", "python/").split("/")[:-1]
    return "/".join(folders[: 2 if folders[:1] in (["docs"], ["python"], ["src"], ["tests"]) else 1]) or file


def main() -> int:
    """Print the table, or the sentences of some folders."""
    listed = subprocess.run(["git", "ls-files"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    folders: dict[str, list[Sentence]] = defaultdict(list)
    for file in listed.stdout.splitlines():
        if file.endswith(_SUFFIXES) and (CHECKOUT / file).is_file():
            folders[folder_of(file)] += sentences(file)
    if asked := tuple(sys.argv[1:]):
        for file, line, text, length, marks in chain.from_iterable(folders.values()):
            if file.startswith(asked) and (length > MOST_WORDS or marks):
                print(f"{file}:{line}: {length} words {marks}: {text}")
        return 0
    failed = False
    print(f"{'folder':20}{'words':>8}{'over 30 words':>20}{'idioms':>8}{'per 1000 words':>16}")
    for folder, found in sorted(folders.items(), key=lambda item: -len(item[1])):
        words, long = sum(s[3] for s in found), sum(s[3] > MOST_WORDS for s in found)
        idioms = sum(len(s[4]) for s in found)
        most = int(MOST_IDIOMS * max(words, LEAST_WORDS)), int(MOST_LONG * max(len(found), LEAST_SENTENCES))
        above = f"  above {most[0]} idioms, {most[1]} long" if idioms > most[0] or long > most[1] else ""
        shares = 100 * long / max(len(found), 1), 1000 * idioms / max(words, 1)
        print(f"{folder:20}{words:8}{long:10} {shares[0]:7.1f} %{idioms:8}{shares[1]:16.1f}{above}")
        failed |= bool(above)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
