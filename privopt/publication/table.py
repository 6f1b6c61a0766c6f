"""Whether a file can be the release of a mechanism: its columns, its cells, how often they occur, and what is kept beside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.problem import Problem
from privopt.core.reformulation import Reformulation
from privopt.errors import FileRefused, InvalidMechanism
from privopt.files.labels import Label
from privopt.mechanisms import (
    Channel,
    Colouring,
    Mechanism,
    Merging,
    NoisyQuery,
    RedactionMechanism,
    SequencePolicy,
)
from privopt.models import JointDistribution
from privopt.models.channel_data import observation
from privopt.problems.belief_release.data import BeliefData
from privopt.publication.answers import answer_texts, fault_of_answers
from privopt.publication.frequencies import (
    ALARM,
    Odd,
    odd_count,
    odd_count_of,
)
from privopt.publication.released import (
    GAP,
    RELEASED,
    Columns,
    Layout,
    few,
    joint_of,
    outputs_of,
    secret_columns,
    text_of,
    written_as,
)
from privopt.publication.sequences import fault_of_redaction, fault_of_streams, places_of
from privopt.publication.values import ValuesCheck, check_values


@dataclass(frozen=True)
class TableCheck:
    """What was found out about a table.

    Parameters
    ----------
    ok : bool
        Whether nothing speaks against it.
    reason : str
        What does, or what was checked.
    rows : int
    columns : tuple of str
        Those that were released.
    beside : tuple of str
        Those that stand beside them, of which nothing is proved.
    alike : tuple of str
        Those of them whose values occur as often as those of the secret did where it was counted.
    """

    ok: bool
    reason: str
    rows: int
    columns: tuple[str, ...]
    beside: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()

    def sentence(self) -> str:
        """The finding, and how often it is wrong."""
        if not self.ok:
            return f"The table is refused: {self.reason}."
        said = f"The table of {self.rows} rows is plausible: {self.reason} (a true release is refused with probability {ALARM:g} at most)"
        if not self.beside:
            return f"{said}."
        said += (
            f"; nothing is proved of the columns beside it: {', '.join(map(repr, self.beside))}, which may say anything about the secret and "
            "were compared with the names of its values only ('privopt verify --data' compares what they hold with what was read)"
        )
        if self.alike:
            said += f"; the values of {', '.join(map(repr, self.alike))} occur exactly as often as those of the secret, and may be these under other names"
        return f"{said}."


def check_table(
    problem: Problem[Any], mechanism: Mechanism, table: Columns, layout: Layout | None = None
) -> TableCheck:
    """Whether a table can be what a mechanism released: only possible outputs, as often as they should be, and no secret beside.

    What cannot be seen: rows that were exchanged with one another, and changes that leave the frequencies nearly as they were. A
    receipt, which holds a hash of the file, shows any change at all.

    Raises
    ------
    FileRefused
        If the released columns cannot be told from the others.
    InvalidMechanism
        If the mechanism does not release tables.

    Examples
    --------
    >>> import privopt as po
    >>> vote = po.JointDistribution([[0.3, 0.1], [0.2, 0.4]], ["red", "blue"], ["young", "old"])
    >>> problem = po.LocalInformationPrivacy(vote, 0.5)
    >>> mechanism = po.Channel([[0.6, 0.4], [0.4, 0.6]], ["young", "old"], ["young", "old"])
    >>> check_table(problem, mechanism, {"age": ["young", "old"] * 50}).ok
    True
    >>> check_table(problem, mechanism, {"age": ["young"] * 100}).ok
    False
    """
    where = layout or Layout()
    data: Problem[Any] = problem
    while isinstance(data, Reformulation):
        mechanism = data.posed(mechanism)
        data = data.target
    if isinstance(mechanism, NoisyQuery):
        return _number(mechanism, table)
    if isinstance(mechanism, Colouring):
        return _answers(mechanism, table, where)
    if not isinstance(mechanism, (Channel, Merging, RedactionMechanism, SequencePolicy)):
        raise InvalidMechanism(f"it is not known how a {mechanism.kind} mechanism writes what it releases")
    outputs = outputs_of(mechanism)
    written = where.symbols or written_as(mechanism)
    gaps = {where.mark, GAP} if isinstance(mechanism, (RedactionMechanism, SequencePolicy)) else set[str]()
    columns = where.columns or _remembered(mechanism, table) or _released_columns(table, written, gaps)
    if len(columns) == 1 or len({len(text) for text in written}) > 1:
        written = tuple((", ".join(text),) for text in written)
    missing = [
        name
        for name in (*columns, *where.kept, *(() if where.by is None else (where.by,)))
        if name not in table
    ]
    rows = len(next(iter(table.values())))
    if missing:
        return TableCheck(
            False, f"there is no column {missing[0]!r}; there are {few(list(table))}", rows, columns
        )
    values = _values(problem, mechanism, table, columns, where)
    beside = tuple(name for name in table if name not in columns and name not in values.judged)
    judged = tuple(name for name in beside if not (where.accepted and name in where.kept))
    fault = _beside(problem, mechanism, table, judged, where.kept)
    users = _users(table, where.by)
    cells = list(zip(*(table[name] for name in columns), strict=True))
    if fault is None and isinstance(mechanism, RedactionMechanism):
        fault = fault_of_redaction(data, mechanism, [cells[i] for user in users for i in user], where.mark)
    elif fault is None and isinstance(mechanism, SequencePolicy):
        fault = fault_of_streams(
            mechanism,
            [[cells[i] for i in user] for user in users],
            outputs,
            written,
            where.mark,
            where.start_step,
        )
    elif fault is None and isinstance(mechanism, (Channel, Merging)):
        fault = _drawn(data, mechanism, cells, written, where) or values.fault
    if fault is not None:
        return TableCheck(False, fault, rows, columns, beside)
    checked = "only possible values, about as often as they should be"
    if not beside:
        checked += ", and nothing beside them"
    alike = tuple(name for name in judged if name not in where.kept and _as_often(problem, table[name]))
    return TableCheck(True, checked, rows, columns, beside, alike)


def _as_often(problem: Problem[Any], cells: Sequence[str]) -> bool:
    """Whether the values of a column occur exactly as often as those of the secret did among as many rows that were counted."""
    joint = joint_of(problem)
    counted = {} if joint is None else joint.to_dict()
    if joint is None or not counted.get("normalised"):
        return False
    secret = np.array(counted["table"], dtype=object)
    sums: list[Any] = secret.reshape(len(secret), -1).sum(axis=1).tolist()
    often = sorted(Counter(cells).values())
    return len(often) > 1 and all(type(n) is int for n in sums) and often == sorted(n for n in sums if n)


def _remembered(mechanism: Mechanism, table: Columns) -> tuple[str, ...]:
    """The columns that a mechanism remembers, where the table has them all; or the one of its messages, with their values beside."""
    if not isinstance(mechanism, (Channel, Merging)) or mechanism.columns is None:
        return ()
    names = mechanism.columns.reads_names
    wide = {len(cells) for cells in mechanism.cells}
    messages = {", ".join(map(str, cells)) for cells in mechanism.cells}
    message = message_column(names)
    if message in table and set(table[message]) <= messages:
        return (message,)
    chosen = names if wide == {len(names)} else (RELEASED,)
    return tuple(chosen) if set(chosen) <= set(table) else ()


def message_column(names: Sequence[str]) -> str:
    """The column of messages beside released columns of these names: one that none of them is.

    Examples
    --------
    >>> message_column(["age"]), message_column(["age", "released"])
    ('released', 'released_')
    """
    name = RELEASED
    while name in names:
        name += "_"
    return name


def _values(
    problem: Problem[Any], mechanism: Mechanism, table: Columns, columns: Sequence[str], where: Layout
) -> ValuesCheck:
    """What the columns of values beside messages say, where the release is a column of messages; not of those kept on purpose."""
    joint = joint_of(problem)
    named = isinstance(mechanism, (Channel, Merging)) and mechanism.columns is not None
    if not named or not isinstance(joint, JointDistribution) or not columns:
        return ValuesCheck()
    assert isinstance(mechanism, (Channel, Merging))
    assert mechanism.columns is not None
    if columns[0] in mechanism.columns.reads_names:
        return ValuesCheck()
    spelled = {name: cells for name, cells in table.items() if name in columns or name not in where.kept}
    return check_values(mechanism, joint, spelled, columns[0])


def _released_columns(table: Columns, written: Sequence[tuple[str, ...]], gaps: set[str]) -> tuple[str, ...]:
    """The columns that hold the release, where nobody said which: the only ones whose cells can."""
    names = tuple(table)
    wide = {len(cells) for cells in written}
    if wide == {len(names)}:
        return names
    if RELEASED in table and wide == {1}:
        return (RELEASED,)
    parts = [{cells[j] for cells in written} for j in range(wide.pop())] if len(wide) == 1 else []
    fitting = [
        [name for name in names if set(table[name]) <= part | gaps and part & set(table[name])]
        for part in parts
    ]
    if fitting and all(len(some) == 1 for some in fitting):
        return tuple(some[0] for some in fitting)
    raise FileRefused(
        f"the released columns cannot be told from {few(names)}: name them (--column), or give the receipt of the release"
    )


def _beside(
    problem: Problem[Any], mechanism: Mechanism, table: Columns, beside: Sequence[str], kept: Sequence[str]
) -> str | None:
    """What must not stand beside a release: the secret, and what the mechanism read."""
    joint = joint_of(problem)
    if joint is None and isinstance(mechanism, (RedactionMechanism, SequencePolicy)):
        letters = _texts(_read(mechanism))
        raw = next((name for name in beside if _names_several(table[name], letters)), None)
        return (
            None
            if raw is None
            else f"the column {raw!r} holds values that the mechanism reads: raw data beside their release?"
        )
    if joint is None:
        return None
    secrets, inputs = observation(joint).leaking.sensitive, observation(joint).observed
    roles = {role.casefold() for role in secret_columns(joint)}
    for name in beside:
        if name.strip().casefold() in roles:
            return f"the column {name!r} of the secret stands beside the release"
        if _names_several(table[name], _texts(secrets)):
            return f"the column {name!r} holds values of the secret: is it kept beside the release?"
        if name not in kept and _names_several(table[name], _texts(inputs)):
            return (
                f"the column {name!r} holds values that the mechanism reads: raw data beside their release?"
            )
    return None


def _read(mechanism: RedactionMechanism | SequencePolicy) -> tuple[Label, ...]:
    """The letters that a mechanism of streams reads."""
    return mechanism.states if isinstance(mechanism, RedactionMechanism) else mechanism.letters


def _texts(labels: Sequence[Label]) -> list[set[str]]:
    """The texts of the values of each part of a symbol."""
    cells = [text_of(label) for label in labels]
    wide = min(map(len, cells), default=0)
    return [{cell[j] for cell in cells} for j in range(wide)]


def _users(table: Columns, by: str | None) -> list[list[int]]:
    """The rows of each user, in their order; all rows where there is no column of users."""
    rows = len(next(iter(table.values())))
    if by is None:
        return [list(range(rows))]
    users: dict[str, list[int]] = {}
    for i, name in enumerate(table[by]):
        users.setdefault(name, []).append(i)
    return list(users.values())


def _drawn(
    data: Problem[Any],
    mechanism: Channel | Merging,
    cells: Sequence[tuple[str, ...]],
    written: Sequence[tuple[str, ...]],
    where: Layout,
) -> str | None:
    """What speaks against the cells of a channel."""
    codes = places_of(cells, written)
    if isinstance(codes, str):
        return codes
    chances, people, matrix = _expected(data, mechanism, len(cells), where.others)
    counts = np.bincount(codes, minlength=len(written))
    never = np.flatnonzero((counts > 0) & (chances <= 0))
    if never.size:
        return f"{', '.join(written[int(never[0])])!r} occurs, which these data are never released as"
    groups = _groups(written)
    for names, gather in groups:
        alarm = ALARM / (2 * len(groups))
        odd = odd_count(_gathered(counts, gather), _gathered(chances, gather), alarm)
        if odd is None and people is not None:
            odd = odd_count_of(_gathered(counts, gather), people, _columns(matrix, gather), alarm)
            if odd is not None:
                return f"{_odd(odd, names)}, if these are the people whom the model counted; if they are others, say so (--others)"
        if odd is not None:
            return _odd(odd, names)
    return None


def _odd(odd: Odd, names: Sequence[str]) -> str:
    together = "all frequencies together are not plausible, as " if odd.together else ""
    return (
        f"{together}{names[odd.place]!r} occurs {odd.count} times, and should about {odd.expected:.4g} times"
    )


def _groups(written: Sequence[tuple[str, ...]]) -> list[tuple[list[str], Ints]]:
    """Whole symbols, then each of their columns: the names of the groups, and the group of each output."""
    whole = ([", ".join(text) for text in written], np.arange(len(written)))
    groups = [whole]
    for j in range(len(written[0]) if len({len(t) for t in written}) == 1 and len(written[0]) > 1 else 0):
        names = list(dict.fromkeys(text[j] for text in written))
        groups.append((names, np.array([names.index(text[j]) for text in written])))
    return groups


def _gathered(values: Any, gather: Ints) -> Any:
    summed = np.bincount(gather, weights=values, minlength=int(gather.max()) + 1)
    return summed.astype(np.int64) if np.issubdtype(np.asarray(values).dtype, np.integer) else summed


def _columns(matrix: Floats, gather: Ints) -> Floats:
    groups = np.zeros((matrix.shape[0], int(gather.max()) + 1))
    np.add.at(groups.T, gather, matrix.T)
    return groups


def _expected(
    data: Problem[Any], mechanism: Channel | Merging, rows: int, others: bool
) -> tuple[Floats, Ints | None, Floats]:
    """Probabilities of the outputs; the people who were counted, if there are as many; and the matrix."""
    matrix = np.asarray(mechanism.matrix)
    if isinstance(data, BeliefData):
        return data.p @ matrix, None, matrix
    joint = joint_of(data)
    if joint is None:
        raise InvalidMechanism(
            "this problem does not say how its data are spread: there are no frequencies to check"
        )
    counted = joint.to_dict()
    chances = observation(joint).p_w @ matrix
    if others or not counted.get("normalised"):
        return chances, None, matrix
    table = np.array(counted["table"], dtype=object)
    numbers = table.reshape(-1).tolist()
    if not all(type(n) is int for n in numbers) or sum(numbers) != rows:
        return chances, None, matrix
    people = table.sum(axis=tuple(range(table.ndim - 1))).astype(np.int64)
    return chances, people, matrix


def _answers(mechanism: Colouring, table: Columns, where: Layout) -> TableCheck:
    """Whether a table can hold the answers of a colouring, and no dataset beside them."""
    rows = len(next(iter(table.values())))
    texts = tuple((text,) for text in answer_texts(mechanism))
    columns = where.columns or _released_columns(table, texts, set())
    wanted = (*columns, *where.kept, *(() if where.by is None else (where.by,)))
    missing = [name for name in wanted if name not in table]
    if missing or len(columns) != 1:
        what = f"no column {missing[0]!r}" if missing else "one column of answers"
        return TableCheck(False, f"there is {what}; there are {few(list(table))}", rows, columns)
    beside = tuple(name for name in table if name not in columns and name != where.by)
    fault = next(
        (
            f"the column {name!r} holds values that name datasets: is what was asked about kept beside the answers?"
            for name in beside
            if not (where.accepted and name in where.kept)
            and _names_several(table[name], _texts(tuple(mechanism.vertices)))
        ),
        None,
    ) or fault_of_answers(mechanism, table[columns[0]], where.datasets)
    if fault is not None:
        return TableCheck(False, fault, rows, columns, beside)
    often = "some datasets" if where.datasets is None else "these datasets"
    return TableCheck(
        True,
        f"only possible answers, about as often as {often} give them, and no dataset beside them",
        rows,
        columns,
        beside,
    )


def _names_several(cells: Sequence[str], parts: Sequence[set[str]]) -> bool:
    """Whether cells hold two or more values, all of them of one part of a symbol."""
    values = set(cells)
    return len(values) > 1 and any(values <= part for part in parts)


def _number(mechanism: NoisyQuery, table: Columns) -> TableCheck:
    """Whether a file holds an answer of a noisy query."""
    rows = len(next(iter(table.values())))
    histogram = mechanism.query == "histogram"
    names = ("state", "count") if histogram else ("query", "released")
    if tuple(table) != names:
        return TableCheck(False, f"expected the columns {names[0]!r} and {names[1]!r}", rows, names)
    wanted = [str(s) for s in mechanism.states or ()] if histogram else [mechanism.name]
    if list(table[names[0]]) != wanted:
        return TableCheck(False, f"the column {names[0]!r} does not name what was asked", rows, names)
    for row, cell in enumerate(table[names[1]], 1):
        try:
            value = float(cell)
        except ValueError:
            return TableCheck(False, f"row {row} is not a number", rows, names)
        if not np.isfinite(value) or (mechanism.noise == "discrete_laplace" and not value.is_integer()):
            return TableCheck(False, f"row {row} is not a number that this noise gives", rows, names)
    return TableCheck(
        True, "a number of the right form; any number is possible, so no more can be seen", rows, names
    )
