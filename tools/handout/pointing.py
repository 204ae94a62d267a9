"""Render a sheet's references: to the works that it cites, and to its figures."""

from collections.abc import Callable
from pathlib import Path

from .description import Description
from .templates import HandoutError


class Pointing:
    """Numbers the works cited in one rendering, and inserts its figures."""

    def __init__(self, repo: Path, described: Description, target: str) -> None:
        """
        Args:
            target: "print", "web" or "solutions"; see Sheet.render.
        """
        self._repo, self._described, self._target = repo, described, target
        self._cited: list[str] = []
        self._interactive: set[str] = set()

    def functions(self) -> dict[str, Callable]:
        """Return what templates call, by name."""
        return {
            "cite": self.cite,
            "cited": self.cited,
            "figure": self.figure,
            "interactive": self.interactive,
        }

    def cite(self, key: str) -> str:
        """Return a citation such as `[2]`, numbered in the order of the first citations."""
        if key not in self._described.references:
            raise HandoutError(f"{key!r} is not in handout/references.toml")
        if key not in self._cited:
            self._cited.append(key)
        return rf"\hyperref[ref:{key}]{{[{self._cited.index(key) + 1}]}}"

    def cited(self) -> list[dict[str, str]]:
        """Return the cited works, in order."""
        return [{"key": key, "text": self._described.references[key]} for key in self._cited]

    def figure(self, name: str) -> str:
        """Return a figure with its caption."""
        if name not in self._described.figures:
            raise HandoutError(f"{name!r} is not in handout/figures.toml")
        figure = self._described.figures[name]
        drawn = rf"\input{{figures/{name}.tex}}"
        if self._target == "web":
            drawn = rf"\includegraphics{{figures/{name}.svg}}"
        return (
            f"\\begin{{figure}}[H]\n\\centering\n{drawn}\n\\caption{{{figure['caption']}}}"
            f"\\label{{{figure['label']}}}\n\\end{{figure}}"
        )

    def interactive(self, name: str) -> str:
        """Return an interactive figure, once per sheet; in print, say that the web page has it.

        Args:
            name: NAME in handout/web/NAME.html, which web.py inserts.
        """
        if not (self._repo / f"handout/web/{name}.html").is_file():
            raise HandoutError(f"the interactive figure handout/web/{name}.html is missing")
        if name in self._interactive or self._target == "solutions":
            return ""
        self._interactive.add(name)
        if self._target == "web":
            return f"@interactive:{name}@"
        return (
            "\\glued{\\emph{The web page} \\file{handout.html} \\emph{has an interactive figure at "
            "this place.}}"
        )
