"""A small strict YAML reader, for machines without PyYAML.

It reads what a ``profiling`` section needs: nested maps, scalars, lists of scalars (``- a`` or
``[a, b]``) and comments. Anything else is refused with its line, never guessed at. Top-level
keys that nobody asks for are skipped unread, so the user's own sections may hold all of YAML.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, NoReturn, Optional, Tuple

from ..errors import StepscopeError

Lines = Dict[Tuple[str, ...], int]
_Line = Tuple[int, int, str]  # number, indentation, text without comment

_KEY = re.compile(
    r"""( "(?:[^"\\]|\\.)*"                                            # "quoted"
        | '(?:[^']|'')*'                                               # 'quoted'
        | [^\s'"\[\]{},&*!|>%@`\#?:-] (?:[^:\#]|:(?!\s|$)|(?<!\s)\#)*?  # plain
        )\s*:(?:\s+(.*))?$""",
    re.VERBOSE,
)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)$")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?$")
_SPECIAL = {"~": None, "null": None, **dict.fromkeys(("true", "yes", "on"), True)}
_SPECIAL.update(dict.fromkeys(("false", "no", "off"), False))
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/"}


def read(text: str, wanted: Iterable[str], file: str) -> Tuple[Dict[str, Any], Lines]:
    """The ``wanted`` top-level keys of ``text`` that are there, and the line of each key below them.

    >>> read("lr: 0.1\\nprofiling:\\n  active: 2  # steps\\n", ["profiling"], "run.yaml")[0]
    {'profiling': {'active': 2}}
    """
    return _Reader(file).document(text, set(wanted))


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: Lines = {}

    def refuse(self, number: int, what: str) -> NoReturn:
        raise StepscopeError(
            f"{self.file}:{number}: {what}",
            hint="install PyYAML (pip install pyyaml) to read all of YAML, or write this part more simply",
        )

    def document(self, text: str, wanted: "set[str]") -> Tuple[Dict[str, Any], Lines]:
        found: Dict[str, Any] = {}
        blocks = self._top_level(text)
        seen: Dict[str, int] = {}
        for key, number, rest, body in blocks:
            if key not in wanted:
                continue
            if key in seen:
                self.refuse(number, f"{key!r} stands twice, first in line {seen[key]}")
            seen[key] = number
            self.lines[(key,)] = number
            found[key] = self._value(number, rest, [self._clean(*line) for line in body], (key,))
        return found, self.lines

    def _top_level(self, text: str) -> List[Tuple[str, int, str, List[Tuple[int, str]]]]:
        """Each top-level key with its line, the rest of that line, and the lines below it."""
        blocks: List[Tuple[str, int, str, List[Tuple[int, str]]]] = []
        for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
            bare = line.strip()
            if not bare or line.startswith("#") or (bare == "---" and not blocks):
                continue
            if line[0] == "\t":
                self.refuse(number, "a tab cannot indent YAML")
            if line[0] == " " or line.startswith("- ") or bare == "-":
                if not blocks:
                    self.refuse(number, "the file must begin with a key at the left edge")
                blocks[-1][3].append((number, line))
                continue
            if line.startswith("%") or bare in ("---", "..."):
                self.refuse(number, "only one YAML document without directives is understood here")
            match = _KEY.match(_without_comment(line))
            if match is None:
                self.refuse(number, f"this is not understood at the left edge: {bare[:40]!r}")
            rest = match.group(2) or ""
            if _is_open(rest):
                self.refuse(number, "a value that goes on over several lines is not understood here")
            blocks.append((self._key(number, match.group(1)), number, rest, []))
        return blocks

    def _clean(self, number: int, line: str) -> _Line:
        indent = len(line) - len(line.lstrip(" "))
        if line[indent : indent + 1] == "\t":
            self.refuse(number, "a tab cannot indent YAML")
        return number, indent, _without_comment(line[indent:])

    def _value(self, number: int, rest: str, body: List[_Line], path: Tuple[str, ...]) -> Any:
        body = [line for line in body if line[2]]
        if rest:
            if body:
                self.refuse(body[0][0], "a value that goes on over several lines is not understood here")
            return self._scalar(number, rest)
        if not body:
            return None
        if body[0][2] == "-" or body[0][2].startswith("- "):
            return self._list(body)
        return self._map(body, path)

    def _list(self, body: List[_Line]) -> List[Any]:
        edge = body[0][1]
        items: List[Any] = []
        for number, indent, text in body:
            if indent != edge or not (text == "-" or text.startswith("- ")):
                self.refuse(number, "each item of this list must be one line that begins with '- '")
            item = text[1:].strip()
            if _KEY.match(item) and item[0] not in "\"'":
                self.refuse(number, "a list of maps is not understood here")
            items.append(self._scalar(number, item))
        return items

    def _map(self, body: List[_Line], path: Tuple[str, ...]) -> Dict[str, Any]:
        edge = body[0][1]
        result: Dict[str, Any] = {}
        at = 0
        while at < len(body):
            number, indent, text = body[at]
            match = _KEY.match(text)
            if indent != edge:
                self.refuse(number, f"this line is indented by {indent} spaces where {edge} were expected")
            if match is None:
                self.refuse(number, f"'key: value' was expected, not {text[:40]!r}")
            key = self._key(number, match.group(1))
            below = (*path, key)
            if key in result:
                self.refuse(number, f"{key!r} stands twice, first in line {self.lines[below]}")
            end = at + 1
            while end < len(body) and (body[end][1] > edge or (body[end][1] == edge and body[end][2].startswith("- "))):
                end += 1
            self.lines[below] = number
            result[key] = self._value(number, match.group(2) or "", body[at + 1 : end], below)
            at = end
        return result

    def _key(self, number: int, text: str) -> str:
        if text == "<<":
            self.refuse(number, "merge keys ('<<') are not understood here")
        return str(self._quoted(number, text)) if text[0] in "\"'" else text.strip()

    def _scalar(self, number: int, text: str) -> Any:
        if not text:
            return None
        if text[0] == "[":
            if not text.endswith("]"):
                self.refuse(number, "a list must end in the line in which it begins")
            inside = text[1:-1].strip().rstrip(",")
            return [self._scalar(number, part.strip()) for part in _split_commas(inside)] if inside else []
        if text == "{}":
            return {}
        if text[0] in "\"'":
            return self._quoted(number, text)
        if text[0] in "&*!|>%@`{}],?" or text.startswith("- ") or ": " in text or text.endswith(":"):
            self.refuse(number, f"this kind of value is not understood here: {text[:40]!r}")
        lowered = text.lower()
        if lowered in _SPECIAL and text in (lowered, lowered.upper(), lowered.capitalize()):
            return _SPECIAL[lowered]
        if _INTEGER.match(text):
            return int(text.replace("_", ""))
        if _FLOAT.match(text):
            return float(text.replace("_", ""))
        return text

    def _quoted(self, number: int, text: str) -> str:
        quote, inside = text[0], text[1:-1]
        if len(text) < 2 or text[-1] != quote or _is_open(text):
            self.refuse(number, f"this quoted value does not end as it began: {text[:40]!r}")
        if quote == "'":
            return inside.replace("''", "'")

        def unescape(match: "re.Match[str]") -> str:
            if match.group(1) not in _ESCAPES:
                self.refuse(number, f"the escape \\{match.group(1)} is not understood here")
            return _ESCAPES[match.group(1)]

        return re.sub(r"\\(.)", unescape, inside)


def _scan(text: str) -> Iterable[Tuple[int, str, Optional[str], int]]:
    """(position, character, the quote it stands in, depth of brackets) for each character."""
    quote: Optional[str] = None
    depth = 0
    escaped = False
    for at, character in enumerate(text):
        if quote is not None:
            yield at, character, quote, depth
            if escaped:
                escaped = False
            elif quote == '"' and character == "\\":
                escaped = True
            elif character == quote:
                if quote == "'" and text[at + 1 : at + 2] == "'":
                    escaped = True  # '' inside single quotes is one quote
                else:
                    quote = None
            continue
        # A quote inside a plain word ("it's") opens nothing.
        if character in "\"'" and (at == 0 or text[at - 1] in " [{,:"):
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        yield at, character, quote, depth
    yield len(text), "", quote, depth


def _without_comment(line: str) -> str:
    for at, character, quote, _ in _scan(line):
        if character == "#" and quote is None and (at == 0 or line[at - 1] in " \t"):
            return line[:at].rstrip()
    return line.rstrip()


def _is_open(text: str) -> bool:
    """Whether a quote or a bracket that begins the value is not closed in this line."""
    if not text or text[0] not in "\"'[{":
        return False
    *_, (_, _, quote, depth) = _scan(text)
    return quote is not None or depth != 0


def _split_commas(text: str) -> List[str]:
    parts, begin = [], 0
    for at, character, quote, depth in _scan(text):
        if character == "" or (character == "," and quote is None and depth == 0):
            parts.append(text[begin:at])
            begin = at + 1
    return parts
