from qiskit import QuantumCircuit

class Operation: ...

class CircuitInstruction:
    operation: Operation

class Gate(Operation):
    definition: QuantumCircuit
    def __init__(self, name: str, num_qubits: int, params: list[float]) -> None: ...
