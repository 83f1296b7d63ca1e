"""Everything tinygate raises on purpose.

::

    TinygateError                  message, hint; `exit_code` is what the command line returns
    ├── UsageError             2   what was typed or configured is wrong
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


class TinygateError(Exception):
    """Base of the tree. `str(error)` is the message alone; `hint` says what to do about it."""

    exit_code = 3

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[type[TinygateError], tuple[str, str]]:
        # Errors cross the worker's pipe, so both fields must survive pickling.
        return (type(self), (self.message, self.hint))

    def render(self) -> str:
        """The two lines a user sees."""
        return f"tinygate: {self.message}\nhint: {self.hint}"


class UsageError(TinygateError):
    """What was typed or configured is wrong; nothing was run."""

    exit_code = 2


class ShapeError(UsageError):
    """A shape that does not parse."""


class UnknownNameError(UsageError):
    """A name that is not in the list it is looked up in."""


class ConfigError(UsageError):
    """A configuration file that cannot be read or has an unknown key."""


class CannotVerifyError(TinygateError):
    """Nothing was found wrong, and nothing was proved right either."""


class NoAdapterError(CannotVerifyError):
    """The engine lists no adapter."""


class LimitError(CannotVerifyError):
    """A limit of the adapter or of this machine's memory; raised before anything is allocated."""


class ShaderError(CannotVerifyError):
    """The engine rejects a kernel's WGSL or its pipeline."""


class InputError(CannotVerifyError):
    """The inputs hold NaN or infinity, so no comparison of outputs means anything."""


class PackingRefusedError(CannotVerifyError):
    """The weights hold a value that the storage format cannot represent."""


class DeviceError(CannotVerifyError):
    """The engine or its driver failed: validation error, lost device, crash, time-out."""
