"""Secrets in command lines: masked and unmasked words, and that no secret is stored."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.missing import missing
from support.mpi import CHECKOUT

Masking = Callable[[Sequence[str]], list[str]]

MASKED = [
    ("mpiexec -n 8 ./app --password hunter2 --nx 16", "mpiexec -n 8 ./app --password *** --nx 16"),
    ("./app --api-key=abc -n 3", "./app --api-key=*** -n 3"),
    ("env MY_TOKEN2=abc ./app", "env MY_TOKEN2=*** ./app"),
    ("curl https://me:pw@host/x?token=abc", "curl 'https://me:***@host/x?token=***'"),
    ("git clone https://me:p@ss/w@host/r", "git clone https://me:***@host/r"),
    ("scp me:pw@host", "scp me:***@host"),
    ("sh -c './app --password x --nx 3'", "sh -c './app --password *** --nx 3'"),
    ("./app --password='my own' --nx 3", "./app --password=*** --nx 3"),
    ("curl -H 'Authorization: Bearer xyz' u", "curl -H 'Authorization: Bearer ***' u"),
    ('./app \'{"password": "x"}\'', "./app '{\"password\":***'"),
]
# Harmless, and left alone; or what the documentation says that it does not find.
LEFT = [
    "python train.py --tokenizer gpt2 --max-tokens 100 --tokens 3",
    "./app --ask-password --verbose",
    "ssh user@host ./app std::token::x 'a  b'",
    "mpiexec -host n01:4,n02:4 ./app -p x --key y in.melt \"q 'r' s\"",
    "PWD=/home/me ./app --url=https://secret.org/ next",
    "",
    "  ",
    "'unclosed",
]
# The words around a secret; the words of a shell are quoted.
PLACES = [
    "./app --password {} --nx 3",
    "./app --auth-token {}",
    "./app -DSECRET={} next",
    "TOKEN={} ./app",
    "env DB_PASSWORD={} ./app",
]


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Masking:
    """Masks texts as the recorder does."""
    made = tmp_path_factory.mktemp("masking") / "mask"
    source = CHECKOUT / "src"
    sources = [source / "watch" / "counting" / "masking.cpp", Path(__file__).parent / "masking" / "mask.cpp"]
    words = ["c++", "-std=c++20", "-O1", f"-I{source}", *map(str, sources), "-o", str(made)]
    subprocess.run(words, check=True)

    def mask(texts: Sequence[str]) -> list[str]:
        given = "".join(f"{text}\0" for text in texts)
        done = subprocess.run([made], input=given.encode(), capture_output=True, check=True)
        return done.stdout.decode().split("\0")[:-1]

    return mask


def test_secrets_are_masked(masked: Masking) -> None:
    assert masked([text for text, _ in MASKED]) == [expected for _, expected in MASKED]


def test_the_locale_changes_no_secret(
    masked: Masking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a Turkish locale, `i` is not the small letter of `I`."""
    pairs = [f"(<U{ord(letter):04X}>,<U{ord(letter) + 32:04X}>)" for letter in "ABCDEFGHJKLMNOPQRSTUVWXYZ"]
    lines = ["comment_char %", "escape_char /", "LC_CTYPE", f"tolower {';'.join(pairs)}", "END LC_CTYPE", ""]
    (tmp_path / "source").write_text("\n".join(lines))
    # It complains of all categories that are not there, and writes the locale.
    words = ["localedef", "-c", "-i", str(tmp_path / "source"), str(tmp_path / "turkish")]
    subprocess.run(words, capture_output=True, check=False)
    if not (tmp_path / "turkish" / "LC_CTYPE").is_file():
        missing("no localedef: apt-get install libc-bin")
    monkeypatch.setenv("LOCPATH", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "turkish")
    assert masked(["./app --PRIVATE-KEY=abc -n 3", "env DB_CREDENTIAL=abc ./app"]) == [
        "./app --PRIVATE-KEY=*** -n 3",
        "env DB_CREDENTIAL=*** ./app",
    ]


def test_secrets_are_masked_in_eight_nested_commands(masked: Masking) -> None:
    line = "./app --password hunter2"
    for _ in range(8):
        line = f"sh -c {shlex.quote(line)}"
    (result,) = masked([line])
    assert "hunter2" not in result


def test_the_rest_is_left_alone(masked: Masking) -> None:
    assert masked(LEFT) == LEFT


SECRETS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=4, max_size=30).filter(
    lambda text: not text.startswith("-") and text.strip("* ") and "NXZQ" not in text
)


@settings(max_examples=15)
@given(st.lists(SECRETS, min_size=1, max_size=40))
def test_no_secret_comes_through(masked: Masking, secrets: list[str]) -> None:
    marked = [f"NXZQ{secret}" for secret in secrets]  # a text that stands nowhere else
    lines = [place.format(shlex.quote(secret)) for secret in marked for place in PLACES]
    lines += [f"sh -c {shlex.quote(line)}" for line in lines]
    result = masked(lines)
    assert [line for line, stored in zip(lines, result, strict=True) if "NXZQ" in stored] == []
    assert masked(result) == result


@settings(max_examples=15)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60), max_size=40))
def test_any_text_can_be_masked_again(masked: Masking, texts: list[str]) -> None:
    once = masked(texts)
    assert masked(once) == once


@settings(max_examples=15)
@given(st.lists(st.lists(st.text("ab/._- '\"\\$", max_size=8), max_size=6), max_size=40))
def test_words_without_secrets_stay(masked: Masking, commands: list[list[str]]) -> None:
    lines = [shlex.join(words) for words in commands]
    assert masked(lines) == lines
