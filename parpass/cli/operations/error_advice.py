"""Advice about each public error and warning: a sentence, by the name of its class.

`parpass explain` and the site's catalogue of errors show them.
"""

from __future__ import annotations

ADVICE = {
    "AdapterError": (
        "Fix the named method of the adapter; `parpass.testing.check_methods` finds "
        "others."
    ),
    "AdapterWarning": "Fix the named method; until then runs may be slower.",
    "ArgumentError": "Pass the kind of value that the message names.",
    "BlockedLoopWarning": (
        "Inside an event loop, await `run_pipeline` or `runner.run`."
    ),
    "BudgetWarning": "Run with workers, or drop the limit.",
    "CPUFeatureError": "Rebuild on this machine, or for a target without these "
    "features.",
    "CacheMismatchWarning": (
        "Find what the pass depends on besides its key, such as files, clocks and "
        "globals."
    ),
    "CallLimitError": "Raise the limit if the program ends at all.",
    "CodeGenError": "Run the passes that lower the named construct, or write it "
    "another way.",
    "ConfigError": "Use a key from `parpass opt --list-configs`, or register the "
    "option.",
    "ConfigValueError": "Use a value of the option's type.",
    "ContractError": (
        "Keep the state of the pass in local variables, and sort sets before you "
        "iterate."
    ),
    "DamagedLibraryError": "Rebuild the library, or copy it again.",
    "DiagnosticError": "Fix the program where the diagnostics point.",
    "EntryPointError": (
        "Install the distribution that provides it, or use a name from the message."
    ),
    "EvaluationError": "Fix the program, or evaluate a complete part of it.",
    "ForeignLibraryError": "Rebuild it with this version, on such a machine.",
    "FrontendError": "Convert the model with its own tools, or fix what the message "
    "names.",
    "FunctionFailure": "Catch it to handle deaths, timeouts and memory limits "
    "together.",
    "FunctionTimeoutError": (
        "Raise the named limit, or skip the pass on this function: `on_failure='skip'`."
    ),
    "IRError": "Follow the rule that the message names.",
    "IRTypeError": "Pass the kind of value that the node expects.",
    "InputChangedError": (
        "Return a new function or module, and do not change the argument."
    ),
    "InstrumentError": ("Pass an instance, not a class, and call `super().__init__`."),
    "InternalError": "Report it, with the traceback and a reproducer.",
    "KernelError": (
        "Check the arguments of the call: shapes, types, ranges of indices."
    ),
    "LawError": (
        "Make the codec keep everything that passes can see, or set "
        "`round_trip_between_passes`."
    ),
    "LibraryError": "Rebuild the library.",
    "MalformedJSONError": "Write the text with `save_json`, and do not edit it.",
    "MalformedModelError": (
        "Check that the file is complete and has the format of its suffix."
    ),
    "MemoryLimitError": (
        "Raise `memory_limit`, or skip the pass on this function: `on_failure='skip'`."
    ),
    "ModuleError": "Use a key and a kind of definition that a module can hold.",
    "ModuleTypeError": (
        "Use a `GlobalVar` or a name as the key, and a function as the value."
    ),
    "ParpassError": "Catch it to handle all errors that parpass raises itself.",
    "ParseError": "Fix the text at the positions shown.",
    "PassContextError": ("Leave contexts in reverse order of entering: use `with`."),
    "PassError": "Fix the pass that the notes name.",
    "PassInputError": "Pass a module of the pass's IR.",
    "PassResultError": (
        "Always return the function or module, even if nothing changed."
    ),
    "PassNameWarning": "Use the name that the message suggests.",
    "PassStateWarning": "Return results, or count with `ctx.count`.",
    "PipelineSyntaxError": (
        "Fix the text at the mark; the syntax is `NAME{option=value},NAME`."
    ),
    "PreservedAnalysisError": (
        "Drop the analysis from the pass's `preserves`; change only copies of results."
    ),
    "ProgressWarning": "Fix the callback.",
    "ReadOnlyModuleError": (
        "Return only the function; to add or replace others, write a module pass."
    ),
    "ReproducerError": "Import the modules that register its passes, or save it again.",
    "RuntimeUseError": (
        "Change what the message names; `workers=0` runs without workers."
    ),
    "ScopeBuilderError": (
        "Call `ret` once at the end, and `else_scope` right after `if_scope`."
    ),
    "SizeLimitError": "Raise the named limit if the size is intended.",
    "SlowerRunWarning": "Follow the message; the result is correct either way.",
    "StepLimitError": "Raise the limit if the program ends at all.",
    "StructuralMismatchError": ("Look at the named path, where the two first differ."),
    "TargetError": "Use a name from `parpass.target.list_kinds()`.",
    "TraceWarning": "Free some space, or choose another file.",
    "UndefinedPassError": "Replace the None in the list of passes.",
    "UnknownAttrError": "Use a name from the message.",
    "UnknownFunctionError": (
        "Register it, import the module that does, or use a name from the message."
    ),
    "UnknownGlobalError": "Use a name that exists in the module.",
    "UnknownOpError": "Use a name from `parpass opt --list-operators`, or register "
    "the operator.",
    "UnknownPassError": (
        "Use a name from `parpass opt --list-passes`, or import the module that "
        "registers the pass."
    ),
    "UnpicklablePassWarning": (
        "Create the named object in the pass's body, or drop it in `__getstate__`."
    ),
    "UnprintablePassError": "Register the pass, with options that text can express.",
    "UnreadFunctionError": "Fix the function's text at the positions shown.",
    "UnsupportedOpsError": (
        "Replace these operators in the model, or register a converter."
    ),
    "UntypedError": "Run `InferType` first.",
    "WellFormedError": (
        "Fix the named pass; its reproducer has the function from before."
    ),
    "WorkerDiedError": (
        "Replay its reproducer, or skip the pass on this function: `on_failure='skip'`."
    ),
    "WorkerError": "Keep unpicklable values out of the exception's attributes.",
}
