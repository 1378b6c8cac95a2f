# SPDX-License-Identifier: Apache-2.0
"""Finds the commands that documents, help texts and manual pages show, with the output that is shown behind them."""
import dataclasses
import pathlib
import re
import subprocess

PAGES = ("*.md", "docs/**/*.md", "samples/**/README.md", "packaging/*/README.md")
WALKS = "docs/guide/"  # pages whose blocks are all commands, and go on where the last one ended
MANUAL = ("whyoom*.[1-8]", "docs/**/whyoom*.[1-8]", "man/**/whyoom*.[1-8]")  # in the build folder
LANGUAGES = ("", "sh", "bash", "console")  # of fenced blocks; others hold no commands
ASSIGNMENTS = r"(?:[A-Za-z_][A-Za-z0-9_]*=\S*\s+)*"
OURS = re.compile(r"^\s*" + ASSIGNMENTS + r"(?:whyoom|build/release/whyoom|\.ci/\w+)(?:\s|$)|[|;&(]\s*whyoom(?:\s|\)|$)|\s/?(?:\S+/)?whyoom\s")
CONTINUED = re.compile(r"(?:\||&&|\\)\s*$")
# Where groff would print a character, and the markup that it would not print.
ROFF = ((r"\fB", ""), (r"\fI", ""), (r"\fR", ""), (r"\fP", ""), (r"\-", "-"), (r"\(aq", "'"), (r"\(dq", '"'), (r"\(ti", "~"), (r"\(ha", "^"),
        (r"\&", ""), (r"\ ", " "), (r"\e", "\\"))


@dataclasses.dataclass
class Command:
    page: str
    line: int
    text: str
    shown: list = None  # lines of output; None where a page shows none


@dataclasses.dataclass
class Block:
    """Commands that a reader enters one after the other."""
    page: str
    line: int
    commands: list


def fenced_blocks(text):
    """(language, number of the first line, lines) of each block between fences; blocks of items are moved to the left."""
    language, start, lines = None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("```"):
            lines.append(line)
            continue
        if language is None:
            language, start, lines, indent = line.strip()[3:], number + 1, [], len(line) - len(line.lstrip())
        else:
            yield language, start, [one[indent:] if not one[:indent].strip() else one for one in lines]
            language = None


def commands_of(page, first, lines):
    """The commands of a block: lines behind "$ " with their output, or, where no line begins so, all lines but comments."""
    is_session = any(line.startswith("$ ") for line in lines)
    commands, is_open, end = [], False, None
    for number, line in enumerate(lines, first):
        is_prompt = line.startswith("$ ")
        if end is not None:
            commands[-1].text += "\n" + line
            end = None if line == end else end
            continue
        if is_open:
            commands[-1].text += "\n" + line
        elif is_prompt or (not is_session and line.strip() and not line.startswith("#")):
            commands.append(Command(page, number, line[2:] if is_prompt else line))
        else:
            if commands and is_session:
                commands[-1].shown = (commands[-1].shown or []) + [line]
            continue
        here = re.search(r"<<'?([A-Z]+)'?", line)
        end = here.group(1) if here else None
        is_open = end is None and bool(CONTINUED.search(line.split(" # ")[0]))
    return commands


def is_ours(commands):
    return any(OURS.search(line) for command in commands for line in command.text.splitlines())


def of_page(name, text):
    for language, first, lines in fenced_blocks(text):
        commands = commands_of(name, first, lines) if language in LANGUAGES else []
        if commands and (is_ours(commands) or name.startswith(WALKS)):
            yield Block(name, first, commands)


def of_tree(source):
    for pattern in PAGES:
        for path in sorted(source.glob(pattern)):
            name = path.relative_to(source).as_posix()
            if name != "CHANGELOG.md" and not name.startswith("build/"):
                yield from of_page(name, path.read_text(encoding="utf-8"))


def of_help(whyoom):
    """The lines below "examples:" in the help text of each command, and others below its usage that begin with `whyoom`, where two blanks
    or more part a command from what explains it."""
    def ask(*words):
        return subprocess.run([whyoom, "help", *words], stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout
    first = ask()
    names = sorted(set(re.findall(r"^ +whyoom ([a-z]+)\b", first.split("\n\n")[1], re.MULTILINE)))
    if len(names) < 9:
        raise SystemExit(f"examples: the help text names only these commands: {names}")
    for name, text in [("", first)] + [(name, ask(name)) for name in names]:
        page, part = f"whyoom help {name}".strip(), ""
        for number, line in enumerate(text.splitlines() + [""], 1):
            if line.startswith(("usage:", "examples:")):
                part, start, lines = line.split(":")[0], number + 1, []
            elif not line.strip():
                commands = commands_of(page, start, lines) if part == "examples" else []
                if commands:
                    yield Block(page, start, commands)
                part = ""
            elif part == "examples":
                lines.append(line[2:] if line.startswith("  ") else line)
            elif not part and line.startswith("  ") and OURS.match(line):
                yield Block(page, number, [Command(page, number, re.split(r" {2,}", line.strip())[0])])


def of_manual(build):
    """What stands between .EX and .EE in the pages of the manual that the build made."""
    pages = sorted({path.resolve() for pattern in MANUAL for path in build.glob(pattern)})
    if not pages:
        raise SystemExit(f"examples: no page of the manual in {build}")
    for path in pages:
        lines, start = None, 0
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith(".EX"):
                lines, start = [], number + 1
            elif line.startswith(".EE") and lines is not None:
                commands = commands_of(path.name, start, lines)
                if is_ours(commands):
                    yield Block(path.name, start, commands)
                lines = None
            elif lines is not None and not line.startswith(".") and not line.startswith("'"):
                for markup, plain in ROFF:
                    line = line.replace(markup, plain)
                lines.append(line)
