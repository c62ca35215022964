#!/usr/bin/env python3
"""Checks that every message has a test: python3 check-messages.py [PATH...]

A message is what a diagnostic, an exception or a fault returned as text says. Its parts are the string literals of two words or
more (cut at `{}` and `%s`) in the sources below, wherever they stand, so that a helper or a table that is handed a text is
covered too. Each part has to stand on a line under test/, with any white space and with its {{...}} read as any text; one of
less than four words together with another part of its statement, so that common words are found in their own message only.

Not messages: the texts of assert, llvm_unreachable, internalError (an assert of the runtime), options of the command line, and
what follows `// not messages: why` up to the next empty line. `// unreachable from input: why`, on the line before a statement
or behind it, marks a message that no input can cause; the summary counts these. Prints FILE:LINE: error: ... for each part
without a test, a line for each directory, and exits with 1 if any is missing. PATH takes only the files below it.
"""
import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ["dialects", "passes", "compiler", "runtime", "kernels", "frontend"]
TESTS = {".mlir", ".test", ".cpp", ".h", ".c", ".py", ".sh"}
NOT_MESSAGES = re.compile(r"\b(assert|static_assert|llvm_unreachable|internalError|cl::desc|cl::opt|cl::value_desc|cl::init)\b")
DIAGNOSTIC = re.compile(r"\b(emit(Op)?(Error|Warning|Remark)|attachNote|createStringError|userError|throw)\b")
TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|R"(?P<delim>[^(\s]*)\((?P<raw>.*?)\)(?P=delim)"|"(?P<text>(?:\\.|[^"\\\n])*)"'
    r"|'(?:\\.|[^'\\\n])+'|(?P<directive>^[ \t]*#(?:[^\n]*\\\n)*[^\n]*)|(?P<end>[;{}])|(?P<code>\s+|\w+|.)", re.S | re.M)
ESCAPES = {"n": "\n", "t": "\t", "0": "\0"}


class Statement:
    def __init__(self):
        self.code, self.literals, self.unreachable, self.joins = "", [], False, False

    def add_literal(self, line, text):
        if self.joins:  # "a" "b" is one literal
            line, text = self.literals[-1][0], self.literals[-1][1] + text
            self.literals.pop()
        self.literals.append((line, text))
        self.joins = True

    def add_code(self, text):
        self.code += text
        self.joins = self.joins and text.isspace()

    def messages(self):
        """(line, part, the other parts, unreachable) for each part."""
        if NOT_MESSAGES.search(self.code):
            return
        found = [(line, part, at) for at, (line, text) in enumerate(self.literals) for part in parts(text)]
        if not found and self.literals and DIAGNOSTIC.search(self.code):
            line, text = max(self.literals, key=lambda literal: len(literal[1]))
            found = [(line, word, 0) for word in [text.strip()] if re.search(r"[a-zA-Z]{2}", word)]
        # Single words are no parts, but tell their message from others.
        words = [word for _, text in self.literals for word in re.findall(r"[a-z_]{4,}", text) if not any(parts(text))]
        is_joined = re.search(r"<<|\s\+\s", self.code)  # else each literal is a text of its own, such as one of a helper
        for line, part, at in found:
            others = [other for _, other, other_at in found if other != part and (is_joined or other_at == at)]
            yield line, part, others or (words if is_joined else []), self.unreachable


def statements(source):
    """The statements of a C++ source with their string literals. A comment belongs to the statement that ended on its line, or
    to the one after it."""
    last = current = Statement()
    line, last_line = 1, 0
    for match in TOKEN.finditer(source):
        if match["comment"] is not None:
            if re.search(r"unreachable from input: \w", match["comment"]):
                (last if last_line == line else current).unreachable = True
        elif match["raw"] is not None:
            current.add_literal(line, match["raw"])
        elif match["text"] is not None:
            current.add_literal(line, unescape(match["text"]))
        elif match["end"] is not None:
            yield current
            last, last_line, current = current, line, Statement()
        elif match["code"] is not None:
            current.add_code(match["code"])
        line += match[0].count("\n")
    yield current


def unescape(text):
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[1]), text)


def normalised(text):
    return " ".join(text.split())


def parts(text):
    """The parts of a literal that are two words or more."""
    for part in re.split(r"\{[^{}]*\}|%[-.0-9]*(?:l|ll|z)?[sduxgfe]|\n", text):
        part = normalised(part).strip(" ,;:.()[]'\"")
        if re.search(r"[a-zA-Z]{2,}\W*\s\W*[a-zA-Z]", part) and re.search(r"[a-z]{2}", part):
            yield part


def messages_of_cpp(source):
    source = re.sub(r"// not messages: \w.*?(?=\n\s*\n|\Z)", lambda match: "\n" * match[0].count("\n"), source, flags=re.S)
    # A lambda in a statement makes several of it, and a comment behind the last of a line is that one's.
    for statement in list(statements(source)):
        yield from statement.messages()


def messages_of_python(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) or isinstance(node, ast.Call) and ast.unparse(node.func) in ("sys.exit", "warnings.warn"):
            texts = [value for value in ast.walk(node) if isinstance(value, ast.Constant) and isinstance(value.value, str)]
            found = [(text.lineno, part) for text in texts for part in parts(text.value)]
            for line, part in found:
                yield line, part, [other for _, other in found if other != part], False


READERS = {".cpp": messages_of_cpp, ".h": messages_of_cpp, ".py": messages_of_python}


def test_lines(source):
    """The lines of a test as messages are compared with them."""
    source = re.sub(r'"\s*\n\s*f?"', "", source)  # a string over several lines
    source = re.sub(r"(expected-\w+)[^\n{]*\{\{(.*)\}\}", r"\1 \2", source)
    source = re.sub(r"\{\{(?:\\([^\w\s])|\[(.)\])\}\}", lambda match: match[1] or match[2], source)  # one quoted sign
    return [normalised(line) for line in re.sub(r"\{\{.*?\}\}", "\0", source.replace('\\"', '"')).splitlines()]


def read_tests():
    files = [path for path in (ROOT / "test").rglob("*") if path.suffix in TESTS and path != Path(__file__).resolve()]
    files = [path for path in files if path.parent != ROOT / "test/Inputs"]
    return [line for path in files for line in test_lines(path.read_text())]


def has_test(part, others, lines):
    alone = len(part.split()) > 3 or not others
    return any(part in line and (alone or any(other in line for other in others)) for line in lines)


def check(paths):
    lines = read_tests()
    counts = defaultdict(lambda: [0, 0, 0])  # of a directory: parts, missing, unreachable
    files = [path for top in SOURCES for path in (ROOT / top).rglob("*") if path.suffix in READERS]
    for path in sorted(path for path in files if any(path.is_relative_to(given) for given in paths)):
        file = path.relative_to(ROOT)
        count = counts["/".join(file.parts[:-1][:2])]
        for line, part, others, unreachable in READERS[path.suffix](path.read_text()):
            missing = not unreachable and not has_test(part, others, lines)
            count[0] += 1
            count[1] += missing
            count[2] += unreachable
            if missing:
                print(f"{file}:{line}: error: no test has '{part}'")
    for directory, (total, missing, unreachable) in sorted(counts.items()):
        if total:
            print(f"{directory}: {total} parts of messages, {missing} without a test, {unreachable} unreachable from input")
    return sum(missing for _, missing, _ in counts.values())


def check_the_check():
    """What the reader must find in sources, and what counts as a test of it."""
    source = 'void f() {\n  op.emitOpError() << "has no" << x << " sign; "\n "write one"; // a comment "of words"\n' \
             '  assert(x && "of ours");\n  fail("{} of a mesh");\n  return "a left one"; // unreachable from input: of us\n' \
             '  // not messages: names\n  table = {"a name"};\n\n  op.emitError() << "bad";\n}\n'
    expected = [(2, "has no", ["sign; write one"], False), (2, "sign; write one", ["has no"], False), (5, "of a mesh", [], False),
                (6, "a left one", [], True), (10, "bad", [], False)]
    lines = test_lines("// expected-error @below {{has  no 3}}\nhas no 3 sign; {{.*}}\na {{\\[}}b")
    return (list(messages_of_cpp(source)) == expected and has_test("has no", ["sign"], lines) and has_test("a [b", [], lines)
            and has_test("has no 3", [], lines[:1])
            and not has_test("has no", ["signs"], lines) and not has_test("sign; write one", [], lines))


if __name__ == "__main__":
    if not check_the_check():
        sys.exit("check-messages.py: does not read messages as it should")
    sys.exit(1 if check([Path(path).resolve() for path in sys.argv[1:]] or [ROOT]) else 0)
