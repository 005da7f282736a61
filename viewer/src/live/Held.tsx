/** A request that waits for somebody to say what the model answers. */
import { JsonView } from "../parts/json";
import { Sign } from "../parts/Sign";
import type { Act } from "./act";
import { Editor } from "./Script";

export interface HeldRequest {
  readonly request: number;
  readonly path: string;
  readonly body: string;
}

export function Held({ request, act }: { request: HeldRequest; act: Act }) {
  return (
    <article class="held" aria-label="A waiting request">
      <p>
        <Sign of="open" label="" /> <strong>A request is waiting for your answer</strong> <span class="mono dim">POST {request.path}</span>
      </p>
      <div class="held-sides">
        <div class="scrolls held-body" tabIndex={0} role="group" aria-label="Its body">
          <JsonView value={parse(request.body)} label="request" />
        </div>
        <div>
          <Editor
            label="What the model answers, in YAML or JSON"
            begin="- message: "
            save="answer"
            act={(yaml) => act("/answer", { request: request.request, yaml })}
          />
          <button onClick={() => act("/answer", { request: request.request })}>answer from the script</button>
        </div>
      </div>
    </article>
  );
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
