"""The reference shows signatures and their defaults: classes whose constructor is inherited have none of their own in the source.

A choice in braces, ``{"a", "b"}``, is no default either: only the signature says whether a parameter has one. References to other objects,
which docstrings mark as Sphinx reads them, become links to what the reference lists, and code otherwise.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import griffe

PUBLIC = ("privopt", "privopt.measures")
"""Modules whose names the reference lists."""


ROLE = re.compile(r":(?:class|meth|func|data|mod|attr|exc):`~?([\w.]+)`")
"""A reference to another object."""


class Defaults(griffe.Extension):
    """Writes the defaults of signatures into the parameters that docstrings list."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Called when a package is loaded whole."""
        if pkg.name != "privopt":
            return
        errors = loader.modules_collection["privopt.errors"]
        for described in (errors, *errors.members.values()):
            if not described.is_alias:
                unmark(described)
        for described, value in _public(loader):
            unmark(described)
            if described.is_class:
                construct(described, value, loader)
            correct(described, value)
            for name, member in described.members.items() if described.is_class else ():
                if not member.is_alias:
                    unmark(member)
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


def unmark(described: Any) -> None:
    """Write the references in a docstring as links, or as code."""
    if described.docstring is not None:
        described.docstring.value = ROLE.sub(_linked, described.docstring.value)


def _linked(role: re.Match[str]) -> str:
    """A link to what the reference lists, else code.

    Examples
    --------
    >>> ROLE.sub(_linked, "see :class:`JointDistribution` and :meth:`skip`, :data:`privopt.core.words.NATS`")
    'see [`JointDistribution`][privopt.JointDistribution] and `skip`, `privopt.core.words.NATS`'
    """
    name = role[1].removeprefix("privopt.")
    listed = callable(vars(importlib.import_module("privopt")).get(name))
    return f"[`{name}`][privopt.{name}]" if listed else f"`{role[1]}`"


def construct(described: Any, value: Any, loader: griffe.GriffeLoader) -> None:
    """Give a class whose constructor is inherited the parameters of that."""
    own = described.members.get("__init__")
    if own is not None and _tells(own.parameters):
        return
    made = value.__init__
    try:
        source = loader.modules_collection[f"{made.__module__}.{made.__qualname__}"].parameters
    except (AttributeError, KeyError):
        source = griffe.Parameters()
    if not _tells(source):
        source = griffe.Parameters(*map(_parameter, inspect.signature(made).parameters.values()))
    if _tells(source):
        described.set_member("__init__", griffe.Function("__init__", parameters=source, parent=described))


def _tells(parameters: griffe.Parameters) -> bool:
    """Whether parameters are named: a constructor that was made for a dataclass without fields of its own has none."""
    return bool({parameter.name for parameter in parameters} - {"self", "args", "kwargs"})


def _parameter(parameter: inspect.Parameter) -> griffe.Parameter:
    """A parameter of a constructor that a decorator made."""
    kind = griffe.ParameterKind[parameter.kind.name.lower()]
    note = None if parameter.annotation is parameter.empty else str(parameter.annotation)
    default = None if parameter.default is parameter.empty else repr(parameter.default)
    return griffe.Parameter(parameter.name, annotation=note, kind=kind, default=default)


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
