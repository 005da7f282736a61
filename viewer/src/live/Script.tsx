/** The turns of a script that wait: what the model will say. They can be added, changed and removed. */
import { useState } from "preact/hooks";
import { count } from "../format";
import type { Act } from "./act";

export interface QueuedTurn {
  readonly turn: string;
  readonly route: string;
  readonly text: string;
  readonly yaml: string;
  readonly file: string;
  readonly line: number;
}

export function Script({ turns, act }: { turns: readonly QueuedTurn[]; act: Act }) {
  return (
    <details class="dock-script">
      <summary>script: {turns.length === 0 ? "no turns waiting" : `${count(turns.length, "turn")} waiting`}</summary>
      <div class="dock-panel scrolls" tabIndex={0} role="group" aria-label="Waiting turns">
        <ol>
          {turns.map((turn) => (
            <Queued key={`${turn.turn} ${turn.text}`} turn={turn} act={act} />
          ))}
        </ol>
        <Editor label="Turns to add, in YAML or JSON" begin="- message: " save="queue" act={(yaml) => act("/turns", { yaml })} />
      </div>
    </details>
  );
}

function Queued({ turn, act }: { turn: QueuedTurn; act: Act }) {
  const [edited, setEdited] = useState(false);
  const named = { turn: turn.turn, was: turn.yaml };
  return (
    <li>
      <p class="row">
        <span class="wrap stretch">
          {!edited && turn.text}{" "}
          <span class="dim small">
            {turn.route !== "script" && turn.route} {turn.file && `${turn.file}${turn.line ? `:${turn.line}` : ""}`}
          </span>
        </span>
        <span class="acts">
          <button class="act" onClick={() => setEdited(!edited)}>
            {edited ? "cancel" : turn.yaml ? "edit" : "replace"}
          </button>
          <button class="act" onClick={() => act("/turns", named)}>
            remove
          </button>
        </span>
      </p>
      {edited && (
        <Editor
          label="This turn, in YAML or JSON"
          begin={turn.yaml || "- message: "}
          save="save"
          act={async (yaml) => {
            const done = await act("/turns", { ...named, yaml });
            if (done) setEdited(false);
            return done;
          }}
        />
      )}
    </li>
  );
}

interface EditorShape {
  readonly label: string;
  readonly begin: string;
  readonly save: string;
  readonly act: (yaml: string) => Promise<boolean>;
}

export function Editor({ label, begin, save, act }: EditorShape) {
  const [text, setText] = useState(begin);
  const send = async () => {
    if (await act(text)) setText(begin);
  };
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label>
        <span class="unseen">{label}</span>
        <textarea
          rows={Math.min(12, text.split("\n").length + 1)}
          spellcheck={false}
          value={text}
          title={`${label}. Ctrl+Enter: ${save}.`}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => (event.ctrlKey || event.metaKey) && event.key === "Enter" && void send()}
        />
      </label>
      <button class="primary" disabled={!text.trim()}>
        {save}
      </button>
    </form>
  );
}
