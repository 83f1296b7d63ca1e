"""Define every error that tinygate raises on purpose.

::

    TinygateError                  message, hint; `exit_code` is what the command line returns
    ├── UsageError             2   the command line or a setting is wrong
    │   ├── ShapeError             "64x128" is not MxKxN
    │   ├── UnknownNameError       no such path, family, suite, engine or adapter
    │   └── ConfigError            a configuration file that can't be used
    └── CannotVerifyError      3   the question was fine, the answer could not be had
        ├── NoAdapterError         no WebGPU adapter at all
        ├── LimitError             a buffer, dispatch or memory limit, with its value
        ├── ShaderError            WGSL the engine rejects: file, line, column, message
        ├── InputError             a non-finite value in the inputs
        ├── PackingRefusedError    a value outside the storage format's range
        └── DeviceError            validation error, device lost, crash or time-out

Every error carries a hint: what to do next, as a command where there is one.
"""

from __future__ import annotations

from typing import Any, Self


class TinygateError(Exception):
    """The base class. `str(error)` is the message alone; `hint` says what to do about it."""

    exit_code = 3

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors cross the worker's pipe, so everything they carry must survive pickling.
        return (_revived, (type(self), self.__dict__))

    def render(self) -> str:
        """Return the two lines that a user sees."""
        return f"tinygate: {self.message}\nhint: {self.hint}"


def _revived(kind: type[TinygateError], state: dict[str, Any]) -> TinygateError:
    error = kind(state["message"], state["hint"])
    error.__dict__.update(state)
    return error


class UsageError(TinygateError):
    """The command line or a setting is wrong; nothing was run.

    option     the flag whose value is wrong, such as `--adapter`; empty if it is no single flag's
    about      the start of the message: that flag, or the variable or file that set it
    statement  the message without it
    """

    exit_code = 2

    def __init__(self, message: str, hint: str, *, option: str = "", about: str = "") -> None:
        super().__init__(f"{about}: {message}" if about else message, hint)
        self.option = option or about
        self.about = about
        self.statement = message

    def set_by(self, where: str, hint: str) -> Self:
        """Return the same error, attributed to the variable or file that set the option."""
        return type(self)(self.statement, hint, option=self.option, about=where)


class ShapeError(UsageError):
    """A shape that does not parse."""


class UnknownNameError(UsageError):
    """An unknown name; the message lists the known ones."""


class ConfigError(UsageError):
    """A configuration file that cannot be read or has an unknown key."""


class CannotVerifyError(TinygateError):
    """The verification did not complete, so there is no verdict."""


class NoAdapterError(CannotVerifyError):
    """The engine lists no adapter."""


class LimitError(CannotVerifyError):
    """A case exceeds a limit of the adapter or of memory; raised before anything is allocated."""


class ShaderError(CannotVerifyError):
    """The engine rejects a kernel's WGSL or its pipeline."""


class InputError(CannotVerifyError):
    """The inputs hold NaN or infinity, so no comparison of outputs means anything."""


class PackingRefusedError(CannotVerifyError):
    """An operand holds a value that the storage format cannot represent.

    operand  "A" or "B"
    index    [row, column] of the first such value; None if unknown
    value    that value
    count    how many there are
    """

    def __init__(
        self,
        message: str,
        hint: str = "keep these weights in f32, or scale them",
        *,
        operand: str = "B",
        index: tuple[int, int] | None = None,
        value: float = float("nan"),
        count: int = 1,
    ) -> None:
        super().__init__(message, hint)
        self.operand = operand
        self.index = index
        self.value = value
        self.count = count

    @classmethod
    def over(
        cls,
        largest: float,
        index: tuple[int, int],
        value: float,
        *,
        operand: str = "B",
        count: int = 1,
    ) -> PackingRefusedError:
        """Build the error for values over a format's largest.

        The message reads `refused: B[3,5]=7.0e4 and 2 more, over the format's 65504`.
        """
        row, column = index
        more = f" and {count - 1} more" if count > 1 else ""
        return cls(
            f"refused: {operand}[{row},{column}]={_short(value)}{more}, "
            f"over the format's {largest:g}",
            operand=operand,
            index=index,
            value=value,
            count=count,
        )


def _short(value: float) -> str:
    """Format a number as `7.0e4`; NaN and infinity as Python spells them."""
    digits, e, exponent = f"{value:.1e}".partition("e")
    return f"{digits}e{int(exponent)}" if e else digits


class DeviceError(CannotVerifyError):
    """A failure of the engine or driver: validation error, lost device, crash or time-out."""
