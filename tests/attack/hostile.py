# SPDX-License-Identifier: Apache-2.0
"""Words that an enemy of the user would write into a log, a file name, a setting or a recording."""
FORGED = "FORGED"  # in names behind two line feeds: a line of a report must not begin with it
MARK = "PWNED"  # the file that a planted command would make, followed by a number: nothing else in the inputs has this name

COMMANDS = (";touch {}", "$(touch {})", "`touch {}`", "|touch {}", "&&touch {}", "&touch {} &", "\";touch {};\"", "';touch {};'",
            ">{}", "${{x:=$(touch {})}}", "\\`touch {}\\`", " #;touch {}", "x'$(touch {})'", "\"$(touch {})\"", "\\';touch {} #", "<(touch {})",
            "\ttouch {};", "; touch {} #")

# Characters that move or change what a terminal shows, or hide it.
CONTROLS = ("\x1b[2J", "\x1b]0;title\x07", "\x1b[31m", "\r", "\x08\x08\x08", "\x7f", "\x00", "\x07", "\x0b", "\x0c", "\x0e", "\u009b31m", "\u0085",
            "\x9c")
DIRECTIONS = ("\u202e", "\u202a", "\u202d", "\u2066", "\u2067", "\u2069", "\u200e", "\u200f", "\u061c", "\u2028", "\u2029")
NOT_UTF8 = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80", b"\x9b31m", b"\xc0\xaf", b"\xf0\x9f")
NUMBERS = (0, 1, -1, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 53 + 1, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1, 2 ** 64, 10 ** 30, -2 ** 63,
           "1e308", "1e999", "0.1", "1e-400", "-0", "NaN", "007")


def planted(random):
    """A text with a command in it that a shell would run, were the text not quoted."""
    return random.choice(COMMANDS).format("%s-%d" % (MARK, random.randrange(1000)))


def word(random):
    """Any hostile word, as text."""
    sort = random.randrange(6)
    if sort < 3:
        return planted(random)
    if sort == 3:
        return random.choice(CONTROLS)
    if sort == 4:
        return random.choice(DIRECTIONS)
    return str(random.choice(NUMBERS))


def name(random, ending):
    """A hostile file name, in bytes. Never "." or "..", no slash, at most 255 bytes."""
    sort = random.randrange(10)
    stem = random.choice(("slurm-4711", "job", "train", "err.0", "x"))
    if sort < 3:
        text = stem + planted(random)
    elif sort == 3:
        text = stem + random.choice(CONTROLS) + "resubmit with: sbatch x" + ending
    elif sort == 4:
        text = stem + random.choice(DIRECTIONS) + "gpj"
    elif sort == 5:
        text = random.choice(("-", "--", "-o", "--format")) + stem
    elif sort == 6:
        text = stem + random.choice((" with blanks", "'", '"', "\\", "*", "?", "[a]", "~", "#", "!", "\n\n", "\t", "%s%n"))
    elif sort == 7:
        text = stem + "\n\n%s  resubmit with: sbatch x\nslurm-1.out  success" % FORGED
    elif sort == 8:
        return (stem.encode() + b"a" * 255)[:255 - len(ending)] + ending.encode()
    else:
        return stem.encode() + random.choice(NOT_UTF8) + ending.encode()
    data = (text + ending).encode("utf-8").replace(b"/", b"_").replace(b"\0", b"_")
    return data[:255]
