"""Devices, under TVM's names: there is one, the processor."""

from __future__ import annotations

from dataclasses import dataclass

from parpass.errors import ArgumentError

_CPU = 1  # its number in DLPack, as in TVM
_NAMES_OF_CPU = (_CPU, "cpu", "llvm", "c", "stackvm")


@dataclass(frozen=True, slots=True)
class Device:
    """A device: holds arrays and runs programs.

    Attributes:
        device_type: DLPack's number of the kind of device; 1 is a processor.
        device_id: The number of the device among those of its kind.
    """

    device_type: int
    device_id: int = 0

    @property
    def exist(self) -> bool:
        """Whether it can be used."""
        return self.device_type == _CPU

    def __str__(self) -> str:
        kind = "cpu" if self.exist else self.device_type
        return f"{kind}({self.device_id})"


def cpu(dev_id: int = 0) -> Device:
    """Return the processor."""
    return Device(_CPU, dev_id)


def device(dev_type: int | str, dev_id: int = 0) -> Device:
    """Return a device by kind: `cpu`, or a target that runs there, such as `llvm`.

    Raises:
        ArgumentError: The kind is unknown.
    """
    name = dev_type.split()[0] if isinstance(dev_type, str) and dev_type else dev_type
    if name not in _NAMES_OF_CPU:
        raise ArgumentError(
            f"expected device 'cpu', got '{dev_type}'; parpass computes there alone"
        )
    return Device(_CPU, dev_id)
