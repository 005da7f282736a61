/** A waiting turn of a World, beside the turns that were taken: it can be edited where it stands. */
import { useState } from "preact/hooks";
import { LiveSource } from "../data/live";
import { useSource } from "../data/use";
import type { WaitingTurn } from "../model";
import { Editor, type QueuedTurn } from "./Script";

export function EditTurn({ turn, world }: { turn: WaitingTurn; world: string }) {
  const source = useSource();
  const [queued, setQueued] = useState<QueuedTurn>();
  const [problem, setProblem] = useState("");
  if (!(source instanceof LiveSource)) return null;
  const attempt = async (done: Promise<void>) => {
    try {
      await done;
      setProblem("");
      return true;
    } catch (reason) {
      setProblem(reason instanceof Error ? reason.message : String(reason));
      return false;
    }
  };
  const find = async () => {
    const { turns } = await source.act<{ turns: QueuedTurn[] }>("GET", "/waiting", world);
    const same = turns.find(({ route, text }) => `${route}: ${text}` === turn.text);
    if (!same) throw new Error("a request has taken this turn");
    setQueued(same);
  };
  const save = async (yaml: string) => {
    await source.act("POST", "/turns", world, { turn: queued?.turn, was: queued?.yaml, yaml });
    setQueued(undefined);
    source.reload(world);
  };
  return (
    <>
      {" "}
      <button class="act" onClick={() => (queued ? setQueued(undefined) : void attempt(find()))}>
        {queued ? "cancel" : "edit"}
      </button>
      {queued && <Editor label="This turn, in YAML or JSON" begin={queued.yaml || "- message: "} save="save" act={(yaml) => attempt(save(yaml))} />}
      {problem && (
        <span class="wrong wrap" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}
