"""x86-64: decoding.py says what its instructions are, execution.py what each does, processor.py how
functions are called. hardware.py compares every instruction that is used with the processor."""

from .processor import X86  # noqa: F401
