"""Estimating how records vary together from a data frame of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidModel, MissingExtra
from privopt.files.labels import Labels
from privopt.files.private import shown
from privopt.models.validation import sorted_labels

if TYPE_CHECKING:
    import narwhals as nw

Fitted: TypeAlias = tuple[Floats, Floats, Labels]
"""An estimated covariance, mean and the names of the records."""

Columns: TypeAlias = tuple[str, ...]
"""The columns that hold the records."""

_ESTIMATORS = ("sample", "ledoit-wolf")


def fit_gaussian(
    frame: object, groups: str | None, roles: str | None, estimator: str
) -> tuple[Floats, Floats, Labels, Columns]:
    """Dispatch on the form of the frame: wide, long with roles, long with exchangeable records."""
    if estimator not in _ESTIMATORS:
        raise InvalidModel(f"estimator is {estimator!r}: give one of {', '.join(map(repr, _ESTIMATORS))}")
    data = _eager(frame)
    if groups is None:
        if roles is not None:
            raise InvalidModel(
                "roles are given without groups: name the column that says which rows belong together"
            )
        table = np.column_stack([_numbers(data, name) for name in data.columns])
        return (*_estimated(table, tuple(data.columns), estimator), _remembered(data.columns))
    name = _value_column(data, groups, roles)
    values = _numbers(data, name)
    keys = _keys(data, groups)
    if roles is not None:
        return (*_with_roles(values, keys, _keys(data, roles), estimator), _remembered([name]))
    if estimator != "sample":
        raise InvalidModel(f"the estimator {estimator!r} needs roles: without them use 'sample'")
    return (*_exchangeable(values, keys), _remembered([name]))


def _remembered(names: Sequence[object]) -> Columns:
    """Names of columns as a file may have them: none where one is no text."""
    texts = tuple(name for name in names if isinstance(name, str) and name)
    return texts if len(set(texts)) == len(names) else ()


def _eager(frame: object) -> nw.DataFrame[Any]:
    """The frame through narwhals, with at least one row and one column."""
    import narwhals as nw

    try:
        data: object = nw.from_native(frame, pass_through=True)
    except nw.exceptions.DuplicateError as cause:
        raise InvalidModel("the frame has two columns of one name: rename one of them") from cause
    if isinstance(data, nw.LazyFrame):
        raise InvalidModel("the frame is lazy: collect() it first")
    if not isinstance(data, nw.DataFrame):
        raise InvalidModel(f"frame is a {type(frame).__name__}: give a pandas or Polars data frame")
    if len(data) == 0 or not data.columns:
        raise InvalidModel("the frame has no rows or no columns: there is nothing to estimate from")
    return data


def _value_column(data: nw.DataFrame[Any], groups: str, roles: str | None) -> str:
    """The one column of a long frame that is neither groups nor roles."""
    for name in (groups, *([] if roles is None else [roles])):
        if name not in data.columns:
            raise InvalidModel(f"the frame has no column {name!r}: it has {data.columns}")
    rest = [name for name in data.columns if name not in (groups, roles)]
    if len(rest) != 1:
        raise InvalidModel(
            f"beside groups and roles the frame has the columns {rest}: keep the one with the values"
        )
    return rest[0]


def _numbers(data: nw.DataFrame[Any], name: str) -> Floats:
    """A numeric column without missing or infinite values."""
    column = data.get_column(name)
    if not column.dtype.is_numeric():
        raise InvalidModel(
            f"column {name!r} holds {column.dtype}, not numbers: leave it out or name it as groups"
        )
    _no_null(column, name)
    values = np.asarray(column.to_numpy(), dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        row = int(bad[0])
        raise InvalidModel(
            f"column {name!r} is {values[row]} in row {row}: drop such rows or fill them in first"
        )
    return values


def _no_null(column: nw.Series[Any], name: str) -> None:
    """Refuse missing entries, for dropping them silently would change the distribution."""
    null = np.flatnonzero(np.asarray(column.is_null().to_numpy(), dtype=np.bool_))
    if null.size:
        raise InvalidModel(
            f"column {name!r} is missing in row {int(null[0])} ({null.size} in all): drop or fill them in first"
        )


def _keys(data: nw.DataFrame[Any], name: str) -> list[Any]:
    """The entries of a column of labels."""
    _no_null(data.get_column(name), name)
    labels: list[Any] = data.get_column(name).to_list()
    return labels


def _with_roles(values: Floats, keys: list[Any], roles: list[Any], estimator: str) -> Fitted:
    """One row a group, one column a role."""
    names = sorted_labels(dict.fromkeys(roles))
    group_of = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    role_of = {role: i for i, role in enumerate(names)}
    table = np.full((len(group_of), len(names)), np.nan)
    for row, (value, key, role) in enumerate(zip(values.tolist(), keys, roles, strict=True)):
        where = group_of[key], role_of[role]
        if not np.isnan(table[where]):
            raise InvalidModel(
                f"row {row} repeats a role, its group has {shown(role, 'it')} before: give each role once"
            )
        table[where] = value
    holes = np.argwhere(np.isnan(table))
    if len(holes):
        row = keys.index(list(group_of)[holes[0, 0]])
        raise InvalidModel(
            f"the group that row {row} begins lacks {shown(names[holes[0, 1]], 'a role')}: drop the group or fill it in; groups of different "
            "sizes have no roles in common, so leave roles out, or assume nothing with GroupModel(the largest size)"
        )
    return _estimated(table, tuple(names), estimator)


def _estimated(table: Floats, names: Labels, estimator: str) -> Fitted:
    """Covariance of the columns of a table of independent rows."""
    if len(table) < 2:
        raise InvalidModel("a covariance needs at least two groups: give more rows")
    if estimator == "sample":
        return np.atleast_2d(np.cov(table, rowvar=False)), table.mean(axis=0), names
    try:
        from sklearn.covariance import LedoitWolf
    except ImportError as error:
        raise MissingExtra(
            "the estimator 'ledoit-wolf' needs scikit-learn: pip install 'privopt[fit]'"
        ) from error
    shrunk = LedoitWolf().fit(table)
    return np.asarray(shrunk.covariance_), table.mean(axis=0), names


def _exchangeable(values: Floats, keys: list[Any]) -> Fitted:
    """Fisher's intraclass covariance: the mean product over ordered pairs of distinct records of one group."""
    position = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    codes = np.array([position[key] for key in keys])
    sizes = np.bincount(codes)
    pairs = int((sizes * (sizes - 1)).sum())
    mean = float(values.mean())
    squares = (values - mean) ** 2
    variance = float(squares.mean())
    sums = np.bincount(codes, weights=values - mean)
    # over pairs i != j of a group, sum of products = (sum)^2 - sum of squares
    covariance = float((sums**2).sum() - squares.sum()) / pairs if pairs else 0.0
    size = int(sizes.max())
    if size > 1 and covariance < -variance / (size - 1):
        raise InvalidModel(
            f"the intraclass correlation {covariance / variance:.3g} is too negative for groups of {size}: "
            "no distribution has it; divide the groups or give roles"
        )
    matrix = np.full((size, size), min(covariance, variance))
    np.fill_diagonal(matrix, variance)
    return matrix, np.full(size, mean), tuple(range(size))
