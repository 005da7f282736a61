"""Commands that take their options as one object: each field of a dataclass is an option, or an argument."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import MISSING, Field, fields
from inspect import Parameter, Signature
from typing import Any, TypeVar, get_type_hints

import typer

T = TypeVar("T")
CommandT = Callable[[typer.Context, T], None]


def takes_options(made: type[T]) -> Callable[[CommandT[T]], Callable[..., None]]:
    """Make a typer command of a function of a context and an object of the dataclass `made`.

    The annotations of the fields (`Annotated[…, typer.Option(…)]`) declare the options, their values are the defaults.
    """

    def decorate(command: CommandT[T]) -> Callable[..., None]:
        def run(context: typer.Context, **values: Any) -> None:
            command(context, made(**values))

        hints = {"context": typer.Context, **get_type_hints(made, include_extras=True)}
        parameters = [Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)]
        parameters += [
            Parameter(option.name, Parameter.KEYWORD_ONLY, default=_default_of(option), annotation=hints[option.name])
            for option in fields(made)  # type: ignore[arg-type]
        ]
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = hints
        run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
        return run

    return decorate


def _default_of(option: Field[Any]) -> Any:
    return Parameter.empty if option.default is MISSING else option.default


def refuse_others(context: typer.Context, taken: Collection[str], why: str) -> None:
    """BadParameter, with what these fields are about, for any other option that stands on the command line."""
    if others := [written for field, written in given_options(context).items() if field not in taken]:
        raise typer.BadParameter(f"{why}, without {', '.join(others)}.")


def given_options(context: typer.Context) -> dict[str, str]:
    """List the options on the command line by field, as they are written."""
    written = {parameter.name: parameter for parameter in context.command.params if parameter.name}
    sources = {name: context.get_parameter_source(name) for name in written}
    return {
        name: parameter.opts[0] if parameter.param_type_name == "option" else str(getattr(parameter, "metavar", name))
        for name, parameter in written.items()
        if (source := sources[name]) is not None and source.name == "COMMANDLINE"
    }
