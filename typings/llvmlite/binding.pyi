from types import TracebackType
from typing import Self

llvm_version_info: tuple[int, ...]

class _Owner:
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

class ContextRef(_Owner): ...
class ModuleRef(_Owner): ...

class TargetMachine(_Owner):
    @property
    def target_data(self) -> object: ...
    def emit_object(self, module: ModuleRef) -> bytes: ...
    def emit_assembly(self, module: ModuleRef) -> str: ...

class Target:
    @classmethod
    def from_triple(cls, triple: str) -> Self: ...
    def create_target_machine(
        self,
        cpu: str = "",
        features: str = "",
        opt: int = 2,
        reloc: str = "default",
        codemodel: str = "jitdefault",
    ) -> TargetMachine: ...

class PipelineTuningOptions:
    loop_unrolling: bool
    loop_vectorization: bool
    slp_vectorization: bool

class ModulePassManager(_Owner):
    def run(self, module: ModuleRef, pb: PassBuilder) -> None: ...

class PassBuilder(_Owner):
    def getModulePassManager(self) -> ModulePassManager: ...  # noqa: N802

def create_context() -> ContextRef: ...
def create_pass_builder(
    tm: TargetMachine, pto: PipelineTuningOptions
) -> PassBuilder: ...
def create_pipeline_tuning_options(speed_level: int = 2) -> PipelineTuningOptions: ...
def initialize_all_asmprinters() -> None: ...
def initialize_all_targets() -> None: ...
def parse_assembly(llvmir: str, context: ContextRef | None = None) -> ModuleRef: ...
