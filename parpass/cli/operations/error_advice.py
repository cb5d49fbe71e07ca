"""Advice about each public error and warning: a sentence, by the name of its class.

`parpass explain` and the site's catalogue of errors show them.
"""

from __future__ import annotations

ADVICE = {
    "AdapterError": (
        "Mend the method of the adapter that is named; "
        "`parpass.testing.check_methods` finds others."
    ),
    "AdapterWarning": "Mend the method that is named; until then runs may be slower.",
    "ArgumentError": "Pass a value of the kind that the message expects.",
    "BlockedLoopWarning": (
        "Await `run_pipeline`, or `runner.run`, inside of an event loop."
    ),
    "BudgetWarning": "Run with workers, or leave the limit out.",
    "CPUFeatureError": "Build again on this machine, or for a target without them.",
    "CacheMismatchWarning": (
        "Find what the pass depends on besides its key: files, clocks, globals."
    ),
    "CallLimitError": "Allow more calls if the program is not endless.",
    "CodeGenError": "Run the passes that lower what is named, or write it another way.",
    "ConfigError": "Use a key of `parpass opt --list-configs`, or register the option.",
    "ConfigValueError": "Give a value of the option's type.",
    "ContractError": (
        "Keep the pass's state in local variables, and sort what comes out of sets."
    ),
    "DamagedLibraryError": "Build the library again, or copy it again.",
    "DiagnosticError": "Correct the program where the diagnostics point.",
    "EntryPointError": (
        "Install the distribution that has it, or use a name of the message."
    ),
    "EvaluationError": "Correct the program, or evaluate a part that is whole.",
    "ForeignLibraryError": "Build it again with this version, on such a machine.",
    "FrontendError": "Convert the model by its own tools, or correct what is named.",
    "FunctionFailure": "Catch it for deaths, timeouts and memory limits at once.",
    "FunctionTimeoutError": (
        "Allow more by the limit that is named, or go on without the pass: "
        "`on_failure='skip'`."
    ),
    "IRError": "Build the node by the rules that are named.",
    "IRTypeError": "Give the node a value of the kind that is expected.",
    "InputChangedError": (
        "Return a new function or module, and leave the argument as it is."
    ),
    "InstrumentError": (
        "Pass an object of a class of instruments, and call its base's `__init__`."
    ),
    "InternalError": "Report it, with the traceback and a reproducer.",
    "KernelError": (
        "Look at the arguments of the call: shapes, types, ranges of indices."
    ),
    "LawError": (
        "Let the codec keep all that passes see, or set `round_trip_between_passes`."
    ),
    "LibraryError": "Build the library again.",
    "MalformedJSONError": "Write the text by `save_json`, and change nothing in it.",
    "MalformedModelError": (
        "Look whether the file is whole, and of the format that its suffix says."
    ),
    "MemoryLimitError": (
        "Allow more by `memory_limit`, or go on without the pass: `on_failure='skip'`."
    ),
    "ModuleError": "Give the definition a key and a kind that the module can hold.",
    "ModuleTypeError": (
        "Use a `GlobalVar` or a name as the key, and a function as the value."
    ),
    "ParpassError": "Catch it for all errors that parpass raises itself.",
    "ParseError": "Correct the text at the positions that are shown.",
    "PassContextError": (
        "Leave contexts in the order in which they were entered: use `with`."
    ),
    "PassError": "Correct the pass that the notes name.",
    "PassInputError": "Pass a module of the IR that the pass is for.",
    "PassResultError": (
        "Return the function, or the module, also where there is nothing to do."
    ),
    "PassNameWarning": "Write the name that the message has.",
    "PassStateWarning": "Return results, or count by `ctx.count`.",
    "PipelineSyntaxError": (
        "Correct the text at the mark; `NAME{option=value},NAME` is the form."
    ),
    "PreservedAnalysisError": (
        "Leave the analysis out of the pass's `preserves`; change a copy of a result."
    ),
    "ProgressWarning": "Mend the callback.",
    "ReadOnlyModuleError": (
        "Return the one function; to add or replace others, write a module pass."
    ),
    "ReproducerError": "Import the modules that register its passes, or save it again.",
    "RuntimeUseError": (
        "Change what the message names; `workers=0` does without workers."
    ),
    "ScopeBuilderError": (
        "Call `ret` once at the end, and `else_scope` behind `if_scope`."
    ),
    "SizeLimitError": "Raise the limit that is named, if the size is meant.",
    "SlowerRunWarning": "Do as the message says; the result is the same.",
    "StepLimitError": "Allow more steps if the program is not endless.",
    "StructuralMismatchError": (
        "Look at the path that is named: there the two differ first."
    ),
    "TargetError": "Use a name of `parpass.target.list_kinds()`.",
    "TraceWarning": "Make room, or name another file.",
    "UndefinedPassError": "Replace the None in the list of passes.",
    "UnknownAttrError": "Use one of the names that the message has.",
    "UnknownFunctionError": (
        "Register it, import the module that does, or use a name of the message."
    ),
    "UnknownGlobalError": "Use a name that the module has.",
    "UnknownOpError": "Use a name of `parpass opt --list-operators`, or register it.",
    "UnknownPassError": (
        "Use a name of `parpass opt --list-passes`, or import the module that "
        "registers the pass."
    ),
    "UnpicklablePassWarning": (
        "Make what is named in the pass's body, or leave it out in `__getstate__`."
    ),
    "UnprintablePassError": "Register the pass, with options that text can have.",
    "UnreadFunctionError": "Correct the text of the function at the positions shown.",
    "UnsupportedOpsError": (
        "Replace these operators in the model, or register a converter."
    ),
    "UntypedError": "Run `InferType` first.",
    "WellFormedError": (
        "Correct the pass that is named; its reproducer has the function as it was "
        "before."
    ),
    "WorkerDiedError": (
        "Replay its reproducer, or go on without the pass: `on_failure='skip'`."
    ),
    "WorkerError": "Keep what cannot be pickled out of the exception's attributes.",
}
