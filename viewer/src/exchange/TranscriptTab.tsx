/** What was said, as the model saw it, beside what was answered, with instructions, tools and settings. */
import { link } from "../address";
import type { OpenedCase, OpenedExchange } from "../data/opened";
import { ItemView, speakerOf } from "../parts/item";
import { JsonView } from "../parts/json";
import { isObject } from "../parts/json_rows";
import { SidePanel } from "./SidePanel";
import type { Shown } from "./shown";
import { Transcript } from "./Transcript";
import { describeTokens } from "./tokens";

export function TranscriptTab(shown: Shown) {
  const { opened, exchange } = shown;
  return (
    <div class="talk">
      <section class="talk-said">
        <h2>What the model saw</h2>
        <Transcript {...shown} />
      </section>
      <section class="talk-answered" tabIndex={0} aria-label="What was answered, instructions, tools and settings">
        <div>
          <h2>What was answered</h2>
          <Answered opened={opened} exchange={exchange} />
        </div>
        <SidePanel opened={opened} exchange={exchange} />
      </section>
    </div>
  );
}

function Answered({ opened, exchange }: { opened: OpenedCase; exchange: OpenedExchange }) {
  const { output, shown } = exchange;
  if (output.length === 0) return <Bare exchange={exchange} />;
  return (
    <div class="items">
      {output.map((item, index) => (
        <div class="item" key={index}>
          <p class="item-head">
            <b>{speakerOf(item)}</b> <Fate opened={opened} item={item} />
          </p>
          <ItemView item={item} />
        </div>
      ))}
      <Ending answer={exchange.answer} cut={shown.edge.cut} cost={shown.cost} />
    </div>
  );
}

function Bare({ exchange }: { exchange: OpenedExchange }) {
  const { shown, answer } = exchange;
  const said = isObject(answer) && "error" in answer ? "" : shown.said;
  return (
    <>
      {said && <p class="prose">{said}</p>}
      {answer === null ? <p class="dim">No body.</p> : <JsonView value={answer} label="answer" />}
    </>
  );
}

/** What became of a call that was answered: the requests that brought its output. */
function Fate({ opened, item }: { opened: OpenedCase; item: unknown }) {
  const callId = isObject(item) ? item.call_id : undefined;
  const call = opened.calls.find((known) => known.call_id === callId);
  if (!call) return null;
  return (
    <span class="dim">
      {call.approval && `${call.approval} · `}
      {call.answered.length === 0 ? <span class="wrong">✗ no output</span> : "output in request "}
      {call.answered.map((number, index) => (
        <>
          {index > 0 && ", "}
          <a href={link.case(opened.id, number)}>{number}</a>
        </>
      ))}
      {call.executed > 1 && <b class="wrong"> executed ×{call.executed}</b>}
    </span>
  );
}

function Ending({ answer, cut, cost }: { answer: unknown; cut: string; cost: number | null }) {
  const members = isObject(answer) ? answer : {};
  const status = typeof members.status === "string" ? members.status : "";
  return (
    <p class="dim">
      {[status, describeTokens(members.usage, cost)].filter(Boolean).join(" · ")}
      {cut && <span class="wrong"> ✗ cut: {cut}</span>}
    </p>
  );
}
