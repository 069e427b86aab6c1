"""Measure the house: python tools/house.py

Prints lines, files, public names, interval types, document models, the largest parameter list,
import cycles, ``Any`` per 1,000 lines and functions that are too complex, and where the largest
of each stand.
``tests/test_house.py`` holds the ceilings, so that none of them grows again unnoticed.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import grimp

SOURCE = Path(__file__).resolve().parents[1] / "src" / "prophase"
#: cyclomatic complexity, as ruff's C901 counts it, that no function should exceed
COMPLEXITY = 20
#: fields that make a class with a title a document of its own
_PARTS = {"sections", "parts", "chapters", "facts", "pages"}
#: fields that with ``low`` and ``high`` make a class an interval
_VALUES = {"value", "mean", "point", "estimate", "share"}
#: words in the names of two fields that make a class hold an interval of its own
_ENDS = (("low", "high"), ("lower", "upper"))


@dataclass(frozen=True)
class House:
    """What was measured, and where."""

    lines: int
    files: int
    public_names: int
    #: classes that hold both ends of an interval
    interval_types: tuple[str, ...]
    #: classes that hold the parts of a whole answer below a title
    document_models: tuple[str, ...]
    #: (parameters, function), the longest list first
    parameters: tuple[tuple[int, str], ...]
    #: modules that import each other in a circle
    cycles: tuple[tuple[str, ...], ...]
    any_names: int
    #: (complexity, function) above :data:`COMPLEXITY`
    complex_functions: tuple[tuple[int, str], ...]

    @property
    def any_per_1000_lines(self) -> float:
        """How often ``Any`` is written in code, per 1,000 lines."""
        return 1000 * self.any_names / self.lines

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield what is measured, its value and where it is largest."""
        most, where = self.parameters[0]
        cycles = [f"{len(one)} around {one[0]}" for one in self.cycles]
        yield "lines", f"{self.lines:,}", ""
        yield "files", f"{self.files:,}", ""
        yield "names in __all__", f"{self.public_names:,}", ""
        yield "interval types", f"{len(self.interval_types)}", ", ".join(self.interval_types)
        yield "document models", f"{len(self.document_models)}", ", ".join(self.document_models)
        yield "largest parameter list", f"{most}", where
        yield "module cycles", f"{len(self.cycles)}", ", ".join(cycles)
        yield "Any per 1,000 lines", f"{self.any_per_1000_lines:.1f}", ""
        complex_ones = ", ".join(f"{name} ({depth})" for depth, name in self.complex_functions)
        label = f"functions above complexity {COMPLEXITY}"
        yield label, f"{len(self.complex_functions)}", complex_ones


def measure(source: Path = SOURCE) -> House:
    """Return the measures of the package in a folder."""
    files = sorted(source.rglob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in files]
    trees = {
        path.relative_to(source).as_posix(): ast.parse(text)
        for path, text in zip(files, texts, strict=True)
    }
    nodes = [(home, node) for home, tree in trees.items() for node in ast.walk(tree)]
    return House(
        lines=sum(text.count("\n") for text in texts),
        files=len(files),
        public_names=sum(_offered(tree) for tree in trees.values()),
        interval_types=tuple(
            f"{home}:{node.name}"
            for home, node in nodes
            if isinstance(node, ast.ClassDef) and is_interval(node)
        ),
        document_models=tuple(
            f"{home}:{node.name}"
            for home, node in nodes
            if isinstance(node, ast.ClassDef) and _is_document(node)
        ),
        parameters=tuple(
            sorted(
                (
                    (_parameters(node.args), f"{home}:{node.name}")
                    for home, node in nodes
                    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                ),
                reverse=True,
            )
        ),
        cycles=tuple(cycles(imports())),
        any_names=sum(isinstance(node, ast.Name) and node.id == "Any" for _, node in nodes),
        complex_functions=tuple(_complex_functions(source)),
    )


def imports(package: str = "prophase") -> dict[str, set[str]]:
    """Return which modules each module imports: anywhere in it, also inside functions."""
    graph = grimp.build_graph(package, cache_dir=None)
    return {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}


def cycles(imported: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Return the groups of modules that reach each other, the largest first (Tarjan 1972).

    Examples
    --------
    >>> cycles({"a": {"b"}, "b": {"a", "c"}, "c": set()})
    [('a', 'b')]
    """
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[tuple[str, ...]] = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for other in sorted(imported.get(module, ())):
            if other not in number:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], number[other])
        if lowest[module] == number[module]:
            at = stack.index(module)
            if len(stack) - at > 1:
                found.append(tuple(sorted(stack[at:])))
            del stack[at:]

    for module in sorted(imported):
        if module not in number:
            visit(module)
    return sorted(found, key=lambda one: (-len(one), one))


def _offered(tree: ast.Module) -> int:
    """Return how many names a module lists in ``__all__``."""
    return sum(
        len(node.value.elts)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.List | ast.Tuple)
        and any(isinstance(name, ast.Name) and name.id == "__all__" for name in node.targets)
    )


def is_interval(node: ast.ClassDef) -> bool:
    """Tell a class that holds both ends of a value, or of something named: ``wait_low_s``."""
    fields = {
        line.target.id
        for line in node.body
        if isinstance(line, ast.AnnAssign)
        and isinstance(line.target, ast.Name)
        and ast.unparse(line.annotation).startswith("float")
    }
    words = [tuple(name.split("_")) for name in fields]
    return any(
        tuple(high if word == low else word for word in name) in words
        for low, high in _ENDS
        for name in words
        if low in name and (len(name) > 1 or fields & _VALUES)
    )


def _is_document(node: ast.ClassDef) -> bool:
    """Tell a class that holds a whole answer: a title and the parts below it."""
    fields = {
        line.target.id
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }
    return "title" in fields and bool(fields & _PARTS)


def _parameters(arguments: ast.arguments) -> int:
    """Return how many parameters a function has; ``self`` and ``cls`` are none."""
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return sum(one.arg not in ("self", "cls") for one in named)


def _complex_functions(source: Path) -> list[tuple[int, str]]:
    """Return (complexity, function) as ruff finds them, the most complex first."""
    asked = subprocess.run(
        [
            str(Path(sys.executable).parent / "ruff"),
            *("check", "--isolated", "--no-cache", "--select", "C901", "--output-format", "json"),
            *("--config", f"lint.mccabe.max-complexity = {COMPLEXITY}", str(source)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    found = []
    for one in json.loads(asked.stdout):
        # "`name` is too complex (25 > 20)"
        name, depth = one["message"].split("`")[1], one["message"].split("(")[1].split()[0]
        home = Path(one["filename"]).relative_to(source).as_posix()
        found.append((int(depth), f"{home}:{name}"))
    return sorted(found, reverse=True)


def main(arguments: Sequence[str]) -> int:
    """Print the table; with ``--all`` every cycle and the twenty longest parameter lists."""
    house = measure()
    for label, value, where in house.rows():
        print(f"{label:32}{value:>9}  {where}".rstrip())
    if "--all" in arguments:
        for cycle in house.cycles:
            print("\n" + "\n".join(cycle))
        print()
        for count, name in house.parameters[:20]:
            print(f"{count:3}  {name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
