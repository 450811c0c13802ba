"""AArch64: decoding.py says what its instructions are, execution.py what each does, processor.py how
functions are called. emulated.py compares every instruction that is used with qemu's processor."""

from .processor import AArch64  # noqa: F401
