"""Opening and replacing files: never waits for ever, replaces regular files only, keeps their modes, whole or not at all."""

from __future__ import annotations

import errno
import io
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from privopt.errors import FileRefused

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PATIENCE = 60.0
"""Seconds that a pipe may say nothing before it is given up."""

PRIVATE = 0o600
"""Mode of a new file that holds something of private data."""

PUBLIC = 0o666
"""Mode of any other new file, from which the system takes what the user's mask forbids."""


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """The bytes of a file, or of a pipe as long as it says something every :data:`PATIENCE` seconds.

    Raises
    ------
    FileRefused
        If there is no such file, no file can have that name, it is a folder or a device, or a pipe keeps silent.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "problem.json"
    >>> _ = place.write_bytes(b"{}")
    >>> with reading(place) as stream:
    ...     stream.read()
    b'{}'
    """
    try:
        with _opened(Path(path)) as stream:
            yield stream
    except OSError as cause:
        raise FileRefused(f"{path}: cannot be read: {cause.strerror or cause}{_advice(cause)}") from cause


def _advice(cause: OSError) -> str:
    if isinstance(cause, FileNotFoundError):
        return "; check its name and folder"
    return "; give a file in it" if isinstance(cause, IsADirectoryError) else ""


def _opened(source: Path) -> IO[bytes]:
    check_name(source)
    mode = os.stat(source).st_mode
    if stat.S_ISFIFO(mode):
        return io.BufferedReader(_Pipe(source))
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        stream = source.open("rb")
        if stream.isatty() or os.path.samefile(source, os.devnull):
            return stream
        stream.close()
        raise FileRefused(f"{source}: is a device, not a file; give the name of a file")
    return source.open("rb")


class _Pipe(io.RawIOBase):
    """A pipe that is read while somebody writes to it, and given up when nobody does."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self._handle = os.open(source, os.O_RDONLY | os.O_NONBLOCK)  # plainly opened it waits for a writer

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Wait for bytes, and put them into the buffer; 0 at the end."""
        import select

        said = select.poll()
        said.register(self._handle, select.POLLIN)
        if not said.poll(PATIENCE * 1000):
            raise FileRefused(
                f"{self._source}: is a pipe into which nobody wrote for {PATIENCE:g} seconds; give a file, or start its writer first"
            )
        return os.readv(self._handle, [buffer])

    def close(self) -> None:
        """Close the pipe."""
        if not self.closed:
            os.close(self._handle)
        super().close()


def check_name(path: Path) -> None:
    r"""Refuse what cannot be the name of a file.

    Raises
    ------
    FileRefused
        If it holds a zero byte or half of a character, or a part of it is longer than names of files are.

    Examples
    --------
    >>> check_name(Path("a\0b"))
    Traceback (most recent call last):
    privopt.errors.FileRefused: 'a\x00b': holds a zero byte, which no file name can; give another name
    """
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError as cause:
        raise FileRefused(
            f"{str(path)!a}: holds half of a character (a lone surrogate), which no file name can; give another name"
        ) from cause
    if b"\0" in name:
        raise FileRefused(f"{str(path)!a}: holds a zero byte, which no file name can; give another name")
    try:
        os.lstat(path)
    except OSError as cause:
        if cause.errno == errno.ENAMETOOLONG:
            raise FileRefused(
                f"{path.name[:40]}...: cannot be written or read: this name of {len(path.name)} characters, or its folder's, is too long "
                "for a file; give a shorter one"
            ) from cause


def target_of(path: str | os.PathLike[str]) -> Path:
    """The file that is replaced when something is written under a name: that name, or what a link leads to.

    Raises
    ------
    FileRefused
        If that is no regular file, or cannot be the name of one.

    Examples
    --------
    >>> target_of(os.devnull)
    Traceback (most recent call last):
    privopt.errors.FileRefused: /dev/null: cannot be written: is a device; only regular files are replaced, ...
    """
    check_name(Path(path))
    target = Path(os.path.realpath(path))
    try:
        mode = os.lstat(target).st_mode
    except OSError:  # nothing is there, or what is wrong is said when it is opened
        return Path(path) if not os.path.islink(path) else target
    if stat.S_ISREG(mode):
        return target if os.path.islink(path) else Path(path)
    if stat.S_ISDIR(mode):
        raise FileRefused(f"{path}: is a folder; give the name of a file to write")
    what = "a pipe" if stat.S_ISFIFO(mode) else "a link to itself" if stat.S_ISLNK(mode) else "a device"
    raise FileRefused(
        f"{path}: cannot be written: is {what}; only regular files are replaced, give the name of one"
    )


@contextmanager
def writing_bytes(path: str | os.PathLike[str], private: bool = False) -> Iterator[IO[bytes]]:
    """A file that appears under its name only when the block ends well; the block only writes.

    A file that was there keeps its mode and, where the system allows it, its owner. On return the new bytes are on the disk.

    Parameters
    ----------
    path : path
    private : bool
        Whether only its owner may read a new file, whose name then is on the disk too on return.

    Raises
    ------
    FileRefused
        If the folder does not exist or cannot be written, the disk is full, or the name is not that of a regular file.
    """
    target = target_of(path)
    made: Path | None = None
    try:
        before = _status(target)
        mode = PRIVATE if private or before is not None else PUBLIC
        name = target.with_name(f".{target.name[:32]}.{secrets.token_hex(6)}")
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        made = name
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            if before is not None:
                _like(stream.fileno(), before)
            os.fsync(stream.fileno())
        os.replace(made, target)
        if private:
            flush_folder(target.parent)
    except OSError as cause:
        raise FileRefused(f"{path}: cannot be written: {cause.strerror or cause}") from cause
    finally:
        if made is not None:
            made.unlink(missing_ok=True)


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except FileNotFoundError:
        return None


def _like(handle: int, before: os.stat_result) -> None:
    """Give an open file the owner and the mode of another one."""
    if (before.st_uid, before.st_gid) != (os.fstat(handle).st_uid, os.fstat(handle).st_gid):
        try:
            os.fchown(handle, before.st_uid, before.st_gid)
        except (
            PermissionError
        ):  # somebody else's file in a folder of ours: it becomes ours, no wider than it was
            pass
    os.fchmod(handle, stat.S_IMODE(before.st_mode))


def flush_folder(folder: Path) -> None:
    """Put the names in a folder on the disk, so that a new one survives a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
