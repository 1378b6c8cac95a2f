#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports in a real terminal: what stays on the screen, the pager, and colours.

usage: check_terminal.py WHYOOM ROOT        exits with 77 where tmux is not installed

Each sample is diagnosed in terminals of 24 x 80 and 50 x 120 cells. Everything that the program prints must be on the screen when
the prompt is back, line by line as in a pipe of that width: nothing wrapped, nothing scrolled off. The whole report (-v) opens in a
pager, and leaves with the exit status of the diagnosis. Colours follow NO_COLOR, FORCE_COLOR, TERM and --color.
"""
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import time

PROMPT = "ready>"
SIZES = ((24, 80), (50, 120))
failures = []


def complain(text):
    failures.append(text)
    print(text, file=sys.stderr)


class Terminal:
    """A shell in a terminal of tmux, in a server of its own."""

    def __init__(self, rows, columns, binary):
        self.base = ["tmux", "-L", f"whyoom-{os.getpid()}-{rows}", "-f", "/dev/null"]
        environment = {"PATH": f"{pathlib.Path(binary).parent}:/usr/bin:/bin", "LC_ALL": "C", "PS1": PROMPT, "TERM": "xterm", "HOME": "/"}
        command = ["env", "-i", *(f"{key}={value}" for key, value in environment.items()), "sh"]
        subprocess.run([*self.base, "new-session", "-d", "-x", str(columns), "-y", str(rows), *command], check=True)
        self.prompts = 0
        self.wait(lambda lines: lines[-1:] == [PROMPT])

    def lines(self):
        shown = subprocess.run([*self.base, "capture-pane", "-p"], check=True, capture_output=True, text=True).stdout
        return shown.rstrip("\n").split("\n")

    def wait(self, is_there, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            lines = self.lines()
            if is_there(lines):
                return lines
            time.sleep(0.03)
        complain("waited in vain; on the screen:\n" + "\n".join(self.lines()))
        return self.lines()

    def keys(self, *keys):
        subprocess.run([*self.base, "send-keys", *keys], check=True)

    def run(self, command):
        """The lines from the command's first to the prompt behind it."""
        # A prompt of its own: the one before may still be there when the screen is looked at for the first time.
        self.prompts += 1
        prompt = f"{self.prompts}{PROMPT}"
        self.keys(f"clear; PS1='{prompt}'; {command}", "Enter")
        return self.wait(lambda lines: lines[-1] == prompt)[:-1]

    def close(self):
        subprocess.run([*self.base, "kill-server"], capture_output=True)


def check_screens(binary, root, rows, columns):
    terminal = Terminal(rows, columns, binary)
    for folder in sorted((root / "samples").iterdir()):
        files = sorted(path.name for path in folder.iterdir()) if any(folder.glob("slurm-*.err")) else []
        if not files:
            continue
        expected = subprocess.run([binary, "--width", str(columns), *files], cwd=folder, capture_output=True, text=True).stdout
        shown = terminal.run(f"cd {folder}; whyoom *")
        if [line.rstrip() for line in shown] != [line.rstrip() for line in expected.rstrip("\n").split("\n")]:
            complain(f"{folder.name} in {rows} x {columns}:\n" + "\n".join(shown))
    terminal.close()


def check_pager(binary, root):
    terminal = Terminal(24, 80, binary)
    terminal.run(f"cd {root}/samples/kept-losses; echo there")
    if shutil.which("less"):
        terminal.keys("clear; whyoom -v *; echo left with $?", "Enter")
        lines = terminal.wait(lambda lines: lines[-1].startswith(":"))
        if not lines[0].startswith("slurm-734912.err"):
            complain("the pager does not begin at the first line: " + lines[0])
        terminal.keys("q")
        terminal.wait(lambda lines: "left with 1" in lines)
    for pager in ("cat", "", "no-such-pager"):
        if terminal.run(f"WHYOOM_PAGER='{pager}' whyoom -v * 2>/dev/null; echo left with $?")[-1] != "left with 1":
            complain(f"WHYOOM_PAGER='{pager}': the report does not end as without a pager")
    terminal.close()


def in_terminal(args, folder, **variables):
    """What a program writes to a terminal that keeps everything."""
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "TERM")}
    environment.update(TERM="xterm", LC_ALL="C.UTF-8")
    environment.update(variables)
    main, other = pty.openpty()
    process = subprocess.Popen(args, cwd=folder, stdout=other, stdin=other, stderr=subprocess.DEVNULL, env=environment)
    os.close(other)
    written = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:
            piece = b""
        if not piece:
            break
        written += piece
    os.close(main)
    process.wait()
    return written


def check_colors(binary, root):
    folder = root / "samples" / "kept-losses"
    files = sorted(path.name for path in folder.iterdir())
    cases = (
        ((), {}, True, True),
        ((), {"NO_COLOR": "1"}, False, True),
        ((), {"TERM": "dumb"}, False, False),
        ((), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, True),
        (("--color=never",), {"FORCE_COLOR": "1"}, False, True),
        (("--color=always",), {"NO_COLOR": "1"}, True, True),
        ((), {"LC_ALL": "C"}, True, False),
    )
    for options, variables, has_color, has_blocks in cases:
        text = in_terminal([binary, *options, *files], folder, **variables)
        if (b"\033[" in text) != has_color or ("\u2588".encode() in text) != has_blocks:
            complain(f"{options} {variables}: colours {b'[' in text}, block characters {chr(0x2588).encode() in text}")
    for variables, has_color in (({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "0"}, False)):
        clean = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
        text = subprocess.run([binary, *files], cwd=folder, capture_output=True, env={**clean, **variables}).stdout
        if (b"\033[" in text) != has_color:
            complain(f"in a pipe with {variables}: colours {not has_color}")


def main():
    if not shutil.which("tmux"):
        print("terminal: skipped, tmux is not installed", file=sys.stderr)
        return 77
    binary, root = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    for rows, columns in SIZES:
        check_screens(binary, root, rows, columns)
    check_pager(binary, root)
    check_colors(binary, root)
    print(f"terminal: {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
