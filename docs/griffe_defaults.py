"""The reference shows the defaults that signatures have: docstrings of classes whose constructor is inherited do not know them.

A choice in braces, ``{"a", "b"}``, is no default either: only the signature says whether a parameter has one.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import griffe

PUBLIC = ("privopt", "privopt.measures")
"""Modules whose names the reference lists."""


class Defaults(griffe.Extension):
    """Writes the defaults of signatures into the parameters that docstrings list."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Called when a package is loaded whole."""
        if pkg.name != "privopt":
            return
        for described, value in _public(loader):
            correct(described, value)
            for name, member in described.members.items() if described.is_class else ():
                own = inspect.getattr_static(value, name, None)
                if (
                    not name.startswith("_")
                    and not member.is_alias
                    and member.is_function
                    and own is not None
                ):
                    correct(member, getattr(value, name))


def _public(loader: griffe.GriffeLoader) -> Iterator[tuple[Any, Any]]:
    """What the reference lists: each object as it is described, and as it is imported."""
    for module in PUBLIC:
        imported = importlib.import_module(module)
        for name in loader.modules_collection[module].members:
            value = vars(imported).get(name)
            if name.startswith("_") or not callable(value):
                continue
            place = f"{value.__module__}.{getattr(value, '__qualname__', name)}"
            try:
                yield loader.modules_collection[place], value
            except KeyError:
                continue


def correct(described: Any, value: Any) -> None:
    """Give the parameters of a docstring the defaults of the signature; those that the signature does not have stay as they are."""
    if described.docstring is None:
        return
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return
    for section in described.docstring.parsed:
        if section.kind is not griffe.DocstringSectionKind.parameters:
            continue
        for parameter in section.value:
            if parameter.name in parameters:
                parameter.value = default_of(parameters[parameter.name])


def default_of(parameter: inspect.Parameter) -> str | None:
    """A default as it is written, None where there is none.

    Examples
    --------
    >>> default_of(inspect.signature(lambda a, b=0.5: None).parameters["b"])
    '0.5'
    """
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return "()"
    if parameter.default is parameter.empty:
        return None
    text = repr(parameter.default)
    return "..." if text.startswith("<") else text
