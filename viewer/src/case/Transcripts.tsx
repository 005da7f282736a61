/** What each agent's model saw and said at the end, as a conversation. */
import { useMemo } from "preact/hooks";
import { link } from "../address";
import type { OpenedCase, OpenedExchange } from "../data/opened";
import type { Json } from "../data/pool";
import { ItemView, speakerOf } from "../parts/item";
import { VirtualList } from "../parts/VirtualList";
import { laneColour } from "./Card";

interface Said {
  readonly item: Json;
  readonly number: number;
  readonly mark: string;
}

export function Transcripts({ opened }: { opened: OpenedCase }) {
  return (
    <div class="transcripts">
      {opened.lanes.map((name, lane) => {
        const last = opened.inLane(lane).findLast(({ shown }) => shown.status < 400 && shown.transcript !== null);
        return (
          <section key={name}>
            {opened.lanes.length > 1 && (
              <h2>
                <span style={{ color: laneColour(lane) }}>■</span> {name}
              </h2>
            )}
            {last ? <Transcript opened={opened} last={last} /> : <p class="empty">No answers here.</p>}
          </section>
        );
      })}
    </div>
  );
}

function Transcript({ opened, last }: { opened: OpenedCase; last: OpenedExchange }) {
  const said = useMemo((): Said[] => {
    const heard = last.transcript.map(({ item, said, mark }) => ({ item, number: said || last.number, mark }));
    return [...heard, ...last.output.map((item) => ({ item, number: last.number, mark: "" }))];
  }, [last]);
  return (
    <VirtualList
      items={said}
      keyOf={(_, index) => String(index)}
      estimate={60}
      label="Transcript"
      render={({ item, number, mark }) => (
        <div class="said">
          <p class="small">
            <b>{speakerOf(item)}</b>{" "}
            <a class="dim" href={link.case(opened.id, number)}>
              request {number}
            </a>{" "}
            {mark && <span class="wrong">✗ {mark}</span>}
          </p>
          <ItemView item={item} />
        </div>
      )}
    />
  );
}
