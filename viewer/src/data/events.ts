/** Reads server-sent events of an answer; `EventSource` cannot send the header that has the token. */

export interface SentEvent {
  readonly id: string;
  readonly data: string;
}

export async function* readEvents(answer: Response): AsyncGenerator<SentEvent> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (reader) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = readBlock(block);
      if (event) yield event;
    }
  }
}

function readBlock(block: string): SentEvent | undefined {
  const lines = block.split("\n");
  const field = (name: string) => lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ""));
  const data = field("data");
  return data.length > 0 ? { id: field("id").at(-1) ?? "", data: data.join("\n") } : undefined;
}
