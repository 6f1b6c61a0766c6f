"""Whether a file can be the release of a mechanism: its columns, its cells, how often they occur, and what is kept beside."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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
from privopt.models import JointDistribution, MarkovChain, ObservedJoint
from privopt.models.channel_data import observation
from privopt.problems.belief_release.data import BeliefData
from privopt.problems.redaction.data import RedactionData
from privopt.publication.answers import answer_texts, fault_of_answers
from privopt.publication.frequencies import (
    ALARM,
    Odd,
    hidden_counts,
    odd_count,
    odd_count_of,
    odd_total,
    summed,
    tail,
)
from privopt.publication.values import ValuesCheck, check_values

RELEASED = "released"
"""The column of a release that is not of the columns it was drawn from."""

BY_FILE = "(file)"
"""The column of users of a folder that has a file for each of them."""

GAP = ""
"""A cell of a stream of which nothing is released, as its record was missing."""

MOST_BYTES = 2**31
LONGEST = 3000
"""Records of the longest sequence for which the number of hidden ones is summed over exactly."""

MOST_RECORDS = 100_000
"""Records of all sequences together for which the same is done."""

Columns = Mapping[str, Sequence[str]]


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
    """

    ok: bool
    reason: str
    rows: int
    columns: tuple[str, ...]
    beside: tuple[str, ...] = ()

    def sentence(self) -> str:
        """The finding, and how often it is wrong."""
        if not self.ok:
            return f"The table is refused: {self.reason}."
        said = f"The table of {self.rows} rows is plausible: {self.reason} (a true release is refused with probability {ALARM:g} at most)"
        beside = (
            f"; nothing is proved of the columns beside it: {', '.join(map(repr, self.beside))}"
            if self.beside
            else ""
        )
        return f"{said}{beside}."


def read_released(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """All columns of a CSV file with a header, every cell as it is written.

    A folder has a file for each user: their rows one after the other, with a column :data:`BY_FILE` of the names of the files.

    Raises
    ------
    FileRefused
        If it cannot be read, is not UTF-8, repeats a column, or has rows of other lengths or files of other columns.
    """
    place = Path(path)
    if place.is_dir():
        return _read_folder(place)
    try:
        if place.stat().st_size > MOST_BYTES:
            raise FileRefused(f"{place}: more than {MOST_BYTES} bytes; no more are read")
        with place.open(encoding="utf-8-sig", newline="") as stream:
            lines = list(csv.reader(stream, strict=True))
    except OSError as cause:
        raise FileRefused(f"{place}: cannot be read: {cause.strerror or cause}") from cause
    except UnicodeDecodeError as cause:
        raise FileRefused(f"{place}: is not UTF-8 text; save it as UTF-8") from cause
    except csv.Error as cause:
        raise FileRefused(f"{place}: is not a CSV file: {cause}") from cause
    if len(lines) < 2:
        raise FileRefused(f"{place}: has no rows; expected a line of column names, then rows")
    header, wide = lines[0], len(lines[0])
    if len(set(header)) < wide:
        raise FileRefused(f"{place}: a column name is given twice")
    rows = [line or [""] * (wide == 1) for line in lines[1:]]
    odd = next((i for i, row in enumerate(rows, 1) if len(row) != wide), None)
    if odd is not None:
        raise FileRefused(f"{place}: row {odd} has {len(rows[odd - 1])} cells, the header has {wide}")
    return {name: [row[j] for row in rows] for j, name in enumerate(header)}


def released_files(folder: Path) -> list[Path]:
    """The files of a folder of sequences, in the order of their names."""
    return sorted(path for path in folder.iterdir() if path.suffix in (".csv", ".txt"))


def _read_folder(folder: Path) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    for path in released_files(folder):
        table = read_released(path)
        if BY_FILE in table or (columns and [BY_FILE, *table] != list(columns)):
            raise FileRefused(f"{path}: has other columns than the files before it")
        named = {BY_FILE: [path.name] * len(next(iter(table.values()))), **table}
        for name, cells in named.items():
            columns.setdefault(name, []).extend(cells)
    if not columns:
        raise FileRefused(f"{folder}: has no .csv or .txt file")
    return columns


@dataclass(frozen=True)
class Layout:
    """Where in a table the release stands; what is not known is found out from the table.

    Parameters
    ----------
    columns : tuple of str
        The released columns, in their order.
    kept : tuple of str
        Columns that were copied on purpose.
    symbols : tuple of tuples of str, optional
        How each output is written, a cell a column; by default the text of its label.
    mark : str
        What a hidden cell holds.
    others : bool
        The people are others than those that the model counted.
    by : str, optional
        The column of users, each with a sequence of their own.
    accepted : bool
        What the kept columns leak was accepted, as the receipt states: they are not taken for the secret.
    datasets : tuple of labels, optional
        What each row asked about, where the owner checks the answers of a colouring.
    """

    columns: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    symbols: tuple[tuple[str, ...], ...] | None = None
    mark: str = ""
    others: bool = False
    by: str | None = None
    accepted: bool = False
    datasets: tuple[Label, ...] | None = None


def text_of(label: Label) -> tuple[str, ...]:
    """A symbol as the cells of a row: a tuple has a cell for each part."""
    return tuple(map(str, label)) if isinstance(label, tuple) else (str(label),)


def written_as(mechanism: Mechanism) -> tuple[tuple[str, ...], ...]:
    """How a release writes each output, a cell a column.

    Examples
    --------
    >>> written_as(Merging([["a"], ["b", "c"]]))
    (('a',), ('B1',))
    """
    if isinstance(mechanism, (Channel, Merging)):
        return tuple(tuple(map(str, cells)) for cells in mechanism.cells)
    if isinstance(mechanism, (RedactionMechanism, SequencePolicy)):
        return tuple(text_of(label) for label in _outputs(mechanism))
    return ()


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
    outputs = _outputs(mechanism)
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
            False, f"there is no column {missing[0]!r}; there are {_few(list(table))}", rows, columns
        )
    values = _values(problem, mechanism, table, columns, where)
    beside = tuple(name for name in table if name not in columns and name not in values.judged)
    judged = tuple(name for name in beside if not (where.accepted and name in where.kept))
    fault = _beside(problem, mechanism, table, judged, where.kept)
    users = _users(table, where.by)
    cells = list(zip(*(table[name] for name in columns), strict=True))
    if fault is None and isinstance(mechanism, RedactionMechanism):
        fault = _redacted(data, mechanism, [cells[i] for user in users for i in user], where.mark)
    elif fault is None and isinstance(mechanism, SequencePolicy):
        fault = _streams(
            mechanism, [[cells[i] for i in user] for user in users], outputs, written, where.mark
        )
    elif fault is None and isinstance(mechanism, (Channel, Merging)):
        fault = _drawn(data, mechanism, cells, written, where) or values.fault
    if fault is not None:
        return TableCheck(False, fault, rows, columns, beside)
    checked = "only possible values, about as often as they should be, and no secret kept beside them"
    return TableCheck(True, checked, rows, columns, beside)


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


def _few(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:6])) + (", ..." if len(names) > 6 else "")


def _outputs(mechanism: Channel | Merging | RedactionMechanism | SequencePolicy) -> tuple[Label, ...]:
    if isinstance(mechanism, RedactionMechanism):
        return mechanism.states
    if isinstance(mechanism, SequencePolicy):
        columns = mechanism.kernel(mechanism.start().belief).outputs if mechanism.batch == 1 else ()
        return tuple(columns) or mechanism.letters
    return mechanism.outputs


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
        f"the released columns cannot be told from {_few(names)}: name them (--column), or give the receipt of the release"
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
    roles = secret_columns(joint)
    for name in beside:
        if name in roles:
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


def joint_of(problem: Problem[Any]) -> JointDistribution | ObservedJoint | None:
    """The joint distribution of a problem that has one."""
    joint = vars(problem).get("joint")
    return joint if isinstance(joint, (JointDistribution, ObservedJoint)) else None


def secret_columns(joint: JointDistribution | ObservedJoint) -> tuple[str, ...]:
    """Names of the columns of the secret, where the model remembers them."""
    return () if joint.columns is None else tuple(joint.columns.secret_names)


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


def _places(
    cells: Sequence[tuple[str, ...]],
    written: Sequence[tuple[str, ...]],
    gaps: Sequence[tuple[str, ...]] = (),
) -> Ints | str:
    """Positions of the outputs that the cells name, -1 for gaps, or what speaks against them."""
    places = {**dict.fromkeys(gaps, -1), **{text: y for y, text in enumerate(written)}}
    unknown = next((row for row, text in enumerate(cells, 1) if text not in places), None)
    if unknown is not None:
        return f"row {unknown} holds what is never released; possible are {_few([', '.join(t) for t in written])}"
    return np.array([places[text] for text in cells], dtype=np.int64)


def _drawn(
    data: object,
    mechanism: Channel | Merging,
    cells: Sequence[tuple[str, ...]],
    written: Sequence[tuple[str, ...]],
    where: Layout,
) -> str | None:
    """What speaks against the cells of a channel."""
    codes = _places(cells, written)
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
    data: object, mechanism: Channel | Merging, rows: int, others: bool
) -> tuple[Floats, Ints | None, Floats]:
    """Probabilities of the outputs; the people who were counted, if there are as many; and the matrix."""
    matrix = np.asarray(mechanism.matrix)
    if isinstance(data, BeliefData):
        return data.p @ matrix, None, matrix
    joint = vars(data).get("joint")
    if not isinstance(joint, (JointDistribution, ObservedJoint)):
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


def _streams(
    policy: SequencePolicy,
    users: Sequence[Sequence[tuple[str, ...]]],
    outputs: Sequence[Label],
    written: Sequence[tuple[str, ...]],
    mark: str,
) -> str | None:
    """What speaks against the releases of the streams of all users."""
    wide = len(written[0])
    for number, cells in enumerate(users):
        codes = _places(cells, written, ((GAP,) * wide, (mark,) * wide))
        fault = codes if isinstance(codes, str) else None
        if not isinstance(codes, str):
            released = [None if y < 0 else outputs[y] for y in codes.tolist()]
            fault = _streamed(policy, released, ALARM / len(users))
        if fault is not None:
            return fault if len(users) == 1 else f"sequence {number}: {fault}"
    return None


def _streamed(policy: SequencePolicy, released: Sequence[Label | None], alarm: float) -> str | None:
    """What speaks against the releases of one stream, None where a record was missing."""
    last = policy.chain.max_length
    if last is not None and len(released) > last:
        return f"there are {len(released)} records, and the chain has {last}"
    if policy.batch > 1:
        return _broken_word(released, policy.batch)
    state = policy.start()
    outputs: tuple[Label, ...] = ()
    totals: list[Floats] = []
    for row, letter in enumerate(released, 1):
        if letter is None:  # of a gap nothing is released, and the chain alone moves the belief
            state = policy.skip(1, state)
            continue
        kernel = policy.kernel(state.belief, state.step)
        outputs = kernel.outputs
        chances = _letters(policy, np.array(state.belief)) @ kernel.matrix
        place = outputs.index(letter)
        if chances[place] <= 0:
            return f"row {row} holds what cannot follow the releases before it"
        seen = np.eye(len(outputs))[place]
        totals.append(np.stack([seen, chances, chances * (1.0 - chances)]))
        state = policy.advance(state, letter)
    if not totals:
        return None
    sums = np.sum(totals, axis=0)
    odd = odd_total(sums[0].tolist(), sums[1].tolist(), sums[2].tolist(), alarm)
    if odd is None:
        return None
    return f"{outputs[odd]!r} occurs {sums[0][odd]:.0f} times, and should about {sums[1][odd]:.4g} times"


def _broken_word(released: Sequence[Label | None], batch: int) -> str | None:
    """A word of which some letters are missing and some are not: words are released whole or not at all."""
    for begin in range(0, len(released), batch):
        word = released[begin : begin + batch]
        if None in word and set(word) != {None}:
            return f"rows {begin + 1} to {begin + len(word)} are one word, of which some letters are missing and some are not"
    return None


def _letters(policy: SequencePolicy, belief: Floats) -> Floats:
    """The belief over the letters that a kernel reads."""
    chain: MarkovChain = policy.chain
    if chain.order == 1:
        return belief
    last = [word[-1] if isinstance(word, tuple) else word for word in chain.states]
    return np.array(
        [
            sum(b for b, letter in zip(belief.tolist(), last, strict=True) if letter == name)
            for name in policy.letters
        ]
    )


def _redacted(
    data: object, mechanism: RedactionMechanism, cells: Sequence[tuple[str, ...]], mark: str
) -> str | None:
    """What speaks against the cells of a redaction, a sequence after the other."""
    names = {text_of(state): v for v, state in enumerate(mechanism.states)}
    hidden_text = (mark,) * len(cells[0])
    length = mechanism.length
    if len(cells) % length:
        return f"there are {len(cells)} records, and each sequence has {length}"
    unknown = next(
        (row for row, text in enumerate(cells, 1) if text not in names and text != hidden_text), None
    )
    if unknown is not None:
        return f"row {unknown} holds neither a state nor the mark of a hidden record"
    codes = np.array([names.get(text, -1) for text in cells]).reshape(-1, length)
    weights = mechanism.exact() / 2.0**52
    for t in range(length):
        shown = codes[:, t][codes[:, t] >= 0]
        if (
            shown.size
            and (mechanism.sequential is None or t == mechanism.sequential)
            and (weights[t, shown] >= 1.0).any()
        ):
            return f"record {t} is shown with a value that is always hidden"
    if not isinstance(data, RedactionData) or mechanism.sequential is not None:
        return None
    if (
        mechanism.stream is not None
    ):  # a missing record is hidden too, and nobody sees which of the two it was
        return _impossible(data, codes) or _shown_oddly(data, codes, weights)
    return _impossible(data, codes) or _hidden_often(data, codes, weights)


def _impossible(data: RedactionData, codes: Ints) -> str | None:
    """A step between two shown records that the chain rules out."""
    for t in range(data.length - 1):
        pairs = codes[(codes[:, t] >= 0) & (codes[:, t + 1] >= 0)]
        if len(pairs) and (data.chain.step(t)[pairs[:, t], pairs[:, t + 1]] <= 0).any():
            return f"records {t} and {t + 1} are shown with values that cannot follow each other"
    return None


def _shown_oddly(data: RedactionData, codes: Ints, weights: Floats) -> str | None:
    """A record that is shown with some value too often or too seldom among the sequences that show it."""
    marginals = data.chain.marginals(data.length)
    for t in range(data.length):
        expected = marginals[t] * (1.0 - weights[t])
        counts = np.bincount(codes[codes[:, t] >= 0, t], minlength=len(expected))
        if (counts[expected <= 0] > 0).any():
            return f"record {t} is shown with a value that is never shown there"
        if not counts.any():
            continue
        odd = odd_count(
            counts[expected > 0], expected[expected > 0] / expected.sum(), ALARM / (2 * data.length)
        )
        if odd is not None:
            return f"record {t} is shown with some value {odd.count} times, and should about {odd.expected:.4g} times"
    return None


def _hidden_often(data: RedactionData, codes: Ints, weights: Floats) -> str | None:
    """A record that is hidden too often or too seldom over all sequences, or too many in one."""
    marginals = data.chain.marginals(data.length)
    users = len(codes)
    alarm = ALARM / (2 * data.length)
    for t in range(data.length):
        expected = np.concatenate([marginals[t] * (1.0 - weights[t]), [float(marginals[t] @ weights[t])]])
        counts = np.bincount(
            np.where(codes[:, t] < 0, len(expected) - 1, codes[:, t]), minlength=len(expected)
        )
        if (counts[expected <= 0] > 0).any():
            return f"record {t} is hidden though it never is, or shown with a value that is never shown there"
        odd = odd_count(counts[expected > 0], expected[expected > 0], alarm)
        if odd is not None:
            return f"record {t} is hidden, or shown with some value, {odd.count} times, and should about {odd.expected:.4g} times"
    if data.length > LONGEST or data.length * data.length * data.chain.k**2 * users > 2**34:
        return None
    steps = [data.chain.step(t) for t in range(data.length - 1)]
    chances = hidden_counts(steps, data.chain.marginal(0), weights)
    marks = (codes < 0).sum(axis=1)
    for count, times in Counter(marks.tolist()).items():
        if tail(chances, int(count)) * users < ALARM / 8:
            return f"{times} sequence(s) have {count} hidden records, which is not plausible"
    total, mean = int(marks.sum()), users * float(chances @ np.arange(len(chances)))
    if users * data.length <= MOST_RECORDS and tail(summed(chances, users), total) < ALARM / 8:
        return f"{total} records are hidden, and should about {mean:.4g} be"
    return None


def _answers(mechanism: Colouring, table: Columns, where: Layout) -> TableCheck:
    """Whether a table can hold the answers of a colouring, and no dataset beside them."""
    rows = len(next(iter(table.values())))
    texts = tuple((text,) for text in answer_texts(mechanism))
    columns = where.columns or _released_columns(table, texts, set())
    wanted = (*columns, *where.kept, *(() if where.by is None else (where.by,)))
    missing = [name for name in wanted if name not in table]
    if missing or len(columns) != 1:
        what = f"no column {missing[0]!r}" if missing else "one column of answers"
        return TableCheck(False, f"there is {what}; there are {_few(list(table))}", rows, columns)
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
