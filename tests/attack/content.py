# SPDX-License-Identifier: Apache-2.0
"""The bytes of a file as a recipe that is short on paper: parts that are repeated, compressed, or given as base64.

A part is a text (bytes as UTF-8, others by surrogateescape), [COUNT, PART...] for repeated parts, {"count": COUNT, "line": TEXT} for a
text with another number in the place of each {i}, {"gzip": [PART...]} or {"base64": TEXT}. A recipe is a list of parts; findings keep it as JSON.
"""
import base64
import zlib

PUMPED_FROM = 16  # a part that is repeated more often is what a doubled size doubles


def text_of(data):
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text):
    return text.encode("utf-8", "surrogateescape")


def gzip_of(data, level=6):
    """One member without a time, so that equal input gives equal bytes."""
    packer = zlib.compressobj(level, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def part_bytes(part):
    if isinstance(part, str):
        return bytes_of(part)
    if isinstance(part, bytes):
        return part
    if isinstance(part, list):
        return b"".join(part_bytes(inner) for inner in part[1:]) * part[0]
    if "count" in part:
        return b"".join(bytes_of(part["line"].replace("{i}", str(i))) for i in range(part["count"]))
    if "gzip" in part:
        return gzip_of(realise(part["gzip"]), part.get("level", 6))
    return base64.b64decode(part["base64"])


def realise(parts):
    return b"".join(part_bytes(part) for part in parts)


def expanded_size(parts):
    """Bytes after decompression."""
    return sum(expanded_size(part["gzip"]) if isinstance(part, dict) and "gzip" in part
               else part[0] * expanded_size(part[1:]) if isinstance(part, list)
               else len(part_bytes(part)) for part in parts)


def scaled(parts, factor):
    """The recipe with everything that is pumped repeated so many times as often."""
    found = []
    for part in parts:
        if isinstance(part, list):
            inner = scaled(part[1:], factor)
            count = part[0] * factor if part[0] >= PUMPED_FROM and inner == part[1:] else part[0]
            found.append([count] + inner)
        elif isinstance(part, dict) and "count" in part:
            found.append(dict(part, count=part["count"] * factor))
        elif isinstance(part, dict) and "gzip" in part:
            found.append(dict(part, gzip=scaled(part["gzip"], factor)))
        else:
            found.append(part)
    return found


def is_pumped(parts):
    return scaled(parts, 2) != parts


def to_json(parts):
    """The recipe without bytes objects."""
    found = []
    for part in parts:
        if isinstance(part, bytes):
            text = text_of(part)
            odd = sum(1 for letter in text if not letter.isprintable() and letter not in "\n\t\x1b")
            found.append(text if odd * 4 <= len(text) else {"base64": base64.b64encode(part).decode()})
        elif isinstance(part, list):
            found.append([part[0]] + to_json(part[1:]))
        elif isinstance(part, dict) and "gzip" in part:
            found.append(dict(part, gzip=to_json(part["gzip"])))
        else:
            found.append(part)
    return found
