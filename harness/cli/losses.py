"""`responses-harness losses`: lists what a client may lose although the API accepts its request."""

from typing import Annotated

import typer

from harness.cli.support.app import print_json, print_page, print_rows, require_known
from harness.cli.support.completion import complete_loss
from harness.core.errors import COMMAND


def losses(
    name: Annotated[
        str,
        typer.Argument(metavar="ID", autocompletion=complete_loss, help="The loss to explain; default: list all."),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the parts of an answer that a client may lose, or explain one loss.

    The API accepts requests with losses.
    """
    from harness.analysis.loss import LOSSES
    from harness.report.catalogue import loss_json, loss_row, loss_sections

    if not name:
        print_rows([loss_row(loss) for loss in LOSSES.values()], as_json)
        return
    loss = LOSSES[require_known("loss", name, LOSSES, f"{COMMAND} losses")]
    title = f"{loss.id}  ({loss.area}, {'strict' if loss.strict else 'always'})"
    print_json(loss_json(loss)) if as_json else print_page(title, loss.doc, loss_sections(loss))
