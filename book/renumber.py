#!/usr/bin/env python3
"""Renames the chapters' files so that they begin with their number in the book.

    python3 book/renumber.py

Run it after chapters were inserted, moved or removed in `book/src/SUMMARY.md`. A new chapter begins as
`00-NAME.ipynb`. The chapter's solutions, translations and outputs on a GPU (`.gpu.json`) get the same name, and
every text file that git does not ignore follows. `git diff` shows what was changed.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHAPTER = re.compile(r"^- \[.*\]\(\.\./\.\./notebooks/((\d+)-(.+))\.ipynb\)$", re.MULTILINE)


def main() -> None:
    names = new_names((ROOT / "book/src/SUMMARY.md").read_text())
    if not names:
        print("every chapter has its number already")
        return
    mention = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, names))})(?![\w-])")
    files = subprocess.check_output(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True
    )
    for path in sorted(ROOT / file for file in set(files.split("\0")) if (ROOT / file).is_file()):
        replace_in(path, mention, names)
        stem, *rest = path.name.split(".")
        if stem in names and any(path.is_relative_to(ROOT / folder) for folder in ("notebooks", "po")):
            path.rename(path.with_name(".".join([names[stem], *rest])))
    for old, new in names.items():
        print(f"{old} -> {new}")


def new_names(summary: str) -> dict[str, str]:
    """Those that change, by their old name."""
    chapters = CHAPTER.findall(summary)
    titles = [title for _, _, title in chapters]
    # Otherwise one file could take the place of another before that is renamed.
    assert len(set(titles)) == len(titles), "two chapters have the same name behind the number"
    numbered = {old: f"{place:02}-{title}" for place, (old, _, title) in enumerate(chapters, 1)}
    return {old: new for old, new in numbered.items() if old != new}


def replace_in(path: Path, mention: re.Pattern[str], names: dict[str, str]) -> None:
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        return
    new = mention.sub(lambda match: names[match[1]], text)
    if new != text:
        path.write_bytes(new.encode())


if __name__ == "__main__":
    main()
