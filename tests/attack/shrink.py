# SPDX-License-Identifier: Apache-2.0
"""Makes a failing case small while the same property still fails: fewer files, fewer words, fewer lines, fewer bytes."""
import content

MOST_TRIALS = 400


class Shrinker:
    """`fails(case)`: whether the property still fails."""

    def __init__(self, fails, most_trials=MOST_TRIALS):
        self.fails, self.left = fails, most_trials

    def holds(self, case):
        if self.left <= 0:
            return False
        self.left -= 1
        try:
            return self.fails(case)
        except (IndexError, ValueError, OSError):
            return False

    def shrink(self, case):
        case = self.fewer_files(case)
        case = self.fewer_words(case)
        for at in range(len(case.files)):
            case = self.simpler_name(case, at)
            case = self.fewer_parts(case, at)
            case = self.smaller_pumps(case, at)
        for at in range(len(case.rules)):
            case = self.fewer_parts(case, at, "rules")
        return case

    def fewer_files(self, case):
        at = len(case.files) - 1
        while at >= 0 and len(case.files) > 1:
            smaller = case.without_file(at)
            if self.holds(smaller):
                case = smaller
            at -= 1
        return case

    def fewer_words(self, case):
        at = len(case.args) - 1
        while at >= 1 and len(case.args) > 1:
            for width in (2, 1):
                words = case.args[:at - width + 1] + case.args[at + 1:] if at - width + 1 >= 0 else None
                if words is None or any(isinstance(word, str) and word[:1] == "@" and word[1:].isdigit() for word in case.args[at - width + 1:at + 1]):
                    continue
                if self.holds(case.with_args(words)):
                    case = case.with_args(words)
                    at -= width - 1
                    break
            at -= 1
        return case

    def simpler_name(self, case, at):
        for name in (b"x", b"x" + case.files[at][0][-4:]):
            if name not in [other for other, _ in case.files]:
                simpler = case.with_files([(name, parts) if i == at else (old, parts) for i, (old, parts) in enumerate(case.files)])
                if self.holds(simpler):
                    return simpler
        return case

    def replaced(self, case, at, parts, where):
        items = [(name, parts if i == at else old) for i, (name, old) in enumerate(getattr(case, where))]
        if where == "files":
            return case.with_files(items)
        other = case.with_files(case.files)
        other.rules = items
        return other

    def fewer_parts(self, case, at, where="files"):
        """Whole parts first, then the lines and bytes of each that is plain."""
        case = self.fewer(case, at, where, lambda parts: parts, lambda pieces: pieces)
        for i, part in enumerate(list(getattr(case, where)[at][1])):
            if not isinstance(part, (str, bytes)):
                continue
            data = content.part_bytes(part)
            for split in (lambda text: text.splitlines(keepends=True), lambda text: [text[k:k + 1] for k in range(len(text))]):
                if split(data) and len(split(data)) <= 4000:
                    case, data = self.fewer_pieces(case, at, where, i, split(data))
        return case

    def fewer(self, case, at, where, split, join):
        pieces = split(list(getattr(case, where)[at][1]))
        kept = self.reduce(pieces, lambda some: self.holds(self.replaced(case, at, join(some), where)))
        return self.replaced(case, at, join(kept), where)

    def fewer_pieces(self, case, at, where, i, pieces):
        parts = list(getattr(case, where)[at][1])

        def build(some):
            return self.replaced(case, at, parts[:i] + [b"".join(some)] + parts[i + 1:], where)
        kept = self.reduce(pieces, lambda some: self.holds(build(some)))
        return build(kept), b"".join(kept)

    def reduce(self, pieces, fails):
        """Delta debugging: takes away halves, quarters, ... as long as it still fails."""
        width = max(1, len(pieces) // 2)
        while width >= 1 and pieces and self.left > 0:
            begin = 0
            while begin < len(pieces):
                fewer = pieces[:begin] + pieces[begin + width:]
                if fails(fewer):
                    pieces = fewer
                else:
                    begin += width
            if width == 1:
                break
            width //= 2
        return pieces

    def smaller_pumps(self, case, at):
        parts = list(case.files[at][1])
        for i, part in enumerate(parts):
            while isinstance(part, list) and part[0] > content.PUMPED_FROM:
                smaller = [part[0] // 2] + part[1:]
                candidate = self.replaced(case, at, parts[:i] + [smaller] + parts[i + 1:], "files")
                if not self.holds(candidate):
                    break
                part = parts[i] = smaller
                case = candidate
        return case
