"""Commands that take their options as one object: each field of a dataclass is an option or an argument."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import MISSING, field, fields
from functools import partial
from inspect import Parameter, Signature
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

T = TypeVar("T")
CommandT = Callable[[typer.Context, T], None]


def option(default: Any, told: str, *names: str, **settings: Any) -> Any:
    """Declare a field as an option, named after the field unless names are given."""
    return field(default=default, metadata={"names": names, "make": partial(typer.Option, help=told, **settings)})


def argument(default: Any, told: str, **settings: Any) -> Any:
    """Declare a field as an argument, which is required if its default is `...`."""
    given = {} if default is ... else {"default": default}
    return field(**given, metadata={"names": (), "make": partial(typer.Argument, help=told, **settings)})


def takes_options(made: type[T]) -> Callable[[CommandT[T]], Callable[..., None]]:
    """Turn a function of a context and an object of the dataclass `made` into a typer command.

    The fields of `made` are declared by `option` and `argument`. Flags have no opposite: there is no `--no-json`.
    """

    def decorate(command: CommandT[T]) -> Callable[..., None]:
        def run(context: typer.Context, **values: Any) -> None:
            command(context, made(**values))

        hints: dict[str, Any] = {"context": typer.Context}
        parameters = [Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)]
        types = get_type_hints(made)
        for member in fields(made):  # type: ignore[arg-type]
            kind, names = types[member.name], member.metadata["names"]
            if kind is bool and not names:
                names = (f"--{member.name.replace('_', '-')}",)
            hints[member.name] = Annotated[kind, member.metadata["make"](*names)]
            default = Parameter.empty if member.default is MISSING else member.default
            parameters.append(
                Parameter(member.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[member.name])
            )
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = hints
        run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
        return run

    return decorate


def refuse_others(context: typer.Context, taken: Collection[str], why: str) -> None:
    """Raise BadParameter, with the reason `why`, if any option but the `taken` ones is on the command line."""
    if others := [written for field, written in given_options(context).items() if field not in taken]:
        raise typer.BadParameter(f"{why}. Omit {', '.join(others)}.")


def given_options(context: typer.Context) -> dict[str, str]:
    """Return the options on the command line by field, as they were written."""
    written = {parameter.name: parameter for parameter in context.command.params if parameter.name}
    sources = {name: context.get_parameter_source(name) for name in written}
    return {
        name: parameter.opts[0] if parameter.param_type_name == "option" else str(getattr(parameter, "metavar", name))
        for name, parameter in written.items()
        if (source := sources[name]) is not None and source.name == "COMMANDLINE"
    }
